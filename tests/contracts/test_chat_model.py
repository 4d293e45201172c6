"""The promises of ChatModel over the models that need no endpoint; those over HTTP have suites of their own."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from goat.adapters.model_offline import OfflineModel
from goat.adapters.model_offline_words import WORDS, words_of
from goat.interfaces.texts import LANGUAGES
from goat.ports.models import ChatModel
from goat.records.episodes import Episode, Role
from goat.records.models import ChatMessage, ModelRequest
from goat.records.search import Recalled
from goat.testing.models import ScriptedModel

AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


async def never() -> bool:
    return False


def recalled(text: str, relevance: float = 0.9, role: Role = Role.USER, speaker: str = "") -> Recalled:
    episode = Episode(1, "u", "o", "c", role, text, AT, "x", speaker)
    return Recalled(episode, relevance, relevance)


def request(question: str, *found: Recalled) -> ModelRequest:
    return ModelRequest((ChatMessage("user", question),), question=question, recalled=found)


@pytest.mark.parametrize("model", [ScriptedModel(["hello"]), OfflineModel(UTC, never)], ids=["scripted", "offline"])
async def test_a_model_has_a_name_and_answers_with_text(model: ChatModel) -> None:
    reply = await model.reply(request("hi"))
    assert model.name
    assert reply.text
    assert reply.model == model.name


async def test_offline_quotes_verbatim_with_date_and_speaker() -> None:
    model = OfflineModel(UTC, never)
    reply = await model.reply(request("what?", recalled("two\nlines"), recalled("Dan's words", speaker="Dan")))
    assert "2026-03-02 09:30, you said:\n> two\n> lines" in reply.text
    assert "2026-03-02 09:30, Dan said:\n> Dan's words" in reply.text
    assert reply.quotes_only


async def test_offline_never_invents() -> None:
    model = OfflineModel(UTC, never)
    assert (await model.reply(request("who are you?"))).text == "Nothing found in memory about that."
    assert (await model.reply(request("I am Ana"))).text.startswith("Kept, word for word.")


async def test_offline_leaves_out_earlier_questions_and_weak_results_where_there_is_an_answer() -> None:
    model = OfflineModel(UTC, never)
    found = (recalled("what is it?"), recalled("it is red"), recalled("something else", 0.3))
    assert (await model.reply(request("what is it?", *found))).text.count(">") == 1


async def test_the_hint_is_given_when_it_is_due() -> None:
    async def due() -> bool:
        return True

    hint = words_of("en").how_to_configure
    assert hint in (await OfflineModel(UTC, due).reply(request("hi"))).text
    assert hint not in (await OfflineModel(UTC, never).reply(request("hi"))).text


async def test_offline_speaks_the_language_of_the_person() -> None:
    async def due() -> bool:
        return True

    model = OfflineModel(UTC, due)
    found = (recalled("parola e zimbru"), recalled("am notat", role=Role.ASSISTANT), recalled("da", speaker="Dan"))
    told = (await model.reply(replace(request("care e parola?", *found), language="ro-RO"))).text
    assert told.startswith("Din memorie:")
    assert [line for line in told.splitlines() if line.endswith("spus:")] == [
        "2026-03-02 09:30, ai spus:",
        "2026-03-02 09:30, am spus:",
        "2026-03-02 09:30, Dan a spus:",
    ]
    assert told.endswith("`./run.sh setup` conectează unul.)")
    assert (await model.reply(replace(request("salut"), language="ro"))).text.startswith("Am reținut")
    assert (await model.reply(replace(request("hallo"), language="de"))).text.startswith("Kept, word for word.")
    assert set(WORDS) == set(LANGUAGES)


async def test_a_scripted_model_records_and_raises() -> None:
    model = ScriptedModel(["one", KeyError("two"), lambda asked: asked.question.upper()])
    pieces: list[str] = []
    assert (await model.reply(request("a"), pieces.append)).text == "one"
    with pytest.raises(KeyError):
        await model.reply(request("b"))
    assert (await model.reply(request("c"))).text == "C"
    assert (await model.reply(request("d"))).text == "D"
    assert pieces == ["one"]
    assert [asked.question for asked in model.requests] == ["a", "b", "c", "d"]
