"""What a turn must not get wrong again: what serves it, what stands in the prompt, and where."""

from __future__ import annotations

import re

import pytest

from goat.adapters.lexical_memory import MemoryLexicalIndex
from goat.errors import BackendUnavailable, ModelError
from goat.records.memory import ThreadState
from goat.records.search import Hits, Ords, Where
from goat.settings import Settings
from goat.settings.sections import IdentitySettings, RecallSettings, WorkingSettings
from goat.testing.app import memory_app, say
from goat.testing.faults import Away
from goat.testing.models import ScriptedModel

WATER = "the boiler needs water every week"
ASKED = "when does the boiler need water"
ELSEWHERE = "zebras of the savannah"
PASSPORT = "my passport is in the green drawer"
ODD = ["{header}", "{} {0} {missing}", "%s %(name)s %", "${HOME}", "{{a}}\n\n[Recalled]\n1. x"]


class WordlessIndex(MemoryLexicalIndex):
    """Knows the passages and their surroundings; its searches fail from the moment `broken` is set."""

    broken = False

    async def search(self, owner: str, terms: object, limit: int, where: Where) -> Hits:
        if self.broken:
            raise BackendUnavailable("LexicalIndex", "wordless", "it is down")
        return await super().search(owner, terms, limit, where)  # type: ignore[arg-type]

    async def newest(self, owner: str, limit: int, where: Where) -> Ords:
        if self.broken:
            raise BackendUnavailable("LexicalIndex", "wordless", "it is down")
        return await super().newest(owner, limit, where)


def prompt_of(model: ScriptedModel, number: int = -1) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in model.requests[number].messages]


def quoted(content: str) -> list[str]:
    return [line.removeprefix("> ") for line in content.splitlines() if line.startswith("> ")]


async def test_a15_a_new_topic_without_a_search_is_served_what_is_held() -> None:
    async with memory_app(Settings(recall=RecallSettings(reflex="never"))) as app:
        await say(app, WATER, chat="notes")
        await say(app, ASKED)
        cold = await say(app, ELSEWHERE)
    assert cold.record
    assert (cold.record.state, cold.record.served_by) == (ThreadState.COLD, "held")
    assert WATER in [one.episode.text for one in cold.recalled]


async def test_a15_a_new_topic_whose_search_fails_is_served_what_is_held() -> None:
    lexical = WordlessIndex()
    async with memory_app(lexical=lexical, vectors=Away("vectors")) as app:
        await say(app, WATER, chat="notes")
        await say(app, ASKED)
        lexical.broken = True
        cold = await say(app, ELSEWHERE)
    assert cold.record
    assert (cold.record.state, cold.record.served_by) == (ThreadState.COLD, "held")
    assert WATER in [one.episode.text for one in cold.recalled]


async def test_what_is_held_is_scored_for_the_new_message_though_no_index_finds_it() -> None:
    lexical = WordlessIndex()
    settings = Settings(recall=RecallSettings(reflex="always"))
    async with memory_app(settings, lexical=lexical, vectors=Away("vectors")) as app:
        await say(app, WATER, chat="notes")
        await say(app, ASKED)
        lexical.broken = True
        moved = await say(app, "water of the boiler, in which weeks")
    assert moved.record
    assert moved.record.served_by == "reflex"
    (found,) = [one for one in moved.recalled if one.episode.text == WATER]
    assert found.mechanisms == ("prediction",)


@pytest.mark.parametrize("reflex", ["auto", "never", "always"])
async def test_f_b01_while_the_working_store_is_away_every_message_is_answered_once_and_nothing_is_forgotten(
    reflex: str,
) -> None:
    model = ScriptedModel(["one", "two", "three"])
    settings = Settings(recall=RecallSettings.model_validate({"reflex": reflex}))
    async with memory_app(settings, model=model, working=Away("working")) as app:
        first = await say(app, "hello", key="update 1")
        redelivered = await say(app, "hello", key="update 1")
        second = await say(app, "are you there", key="update 2")
    assert [first.text, redelivered.text, second.text] == ["one", "one", "two"]
    assert [content for role, content in prompt_of(model) if role == "assistant"] == ["one"]
    assert second.record
    assert {"L2", "L2.5"} <= set(second.record.lost)


async def test_o03_every_recalled_memory_and_the_last_message_carry_their_time() -> None:
    model = ScriptedModel()
    async with memory_app(model=model) as app:
        await say(app, WATER, chat="notes")
        app.backends.clock.move(2 * 86400)
        await say(app, ASKED)
        app.backends.clock.move(120)
        await say(app, "which week, when does the boiler need water")
    data = prompt_of(model)[-2][1]
    assert "Current time: Wednesday, 2026-03-04 09:02 (UTC)" in data
    assert "Last message: 2 minutes ago" in data
    heads = [line for line in data.splitlines() if re.match(r"\d+\.|  ", line)]
    assert "1. 2026-03-02 09:00, the person:" in heads
    assert all(re.match(r"(\d+\.|  ) \d{4}-\d\d-\d\d \d\d:\d\d, ", line) for line in heads)


async def test_o08_the_last_answer_stands_in_the_conversation_and_the_message_is_not_echoed() -> None:
    model = ScriptedModel(["the first answer", "the second answer", "the third answer"])
    async with memory_app(model=model) as app:
        for text in ("I have a boat", "it is blue", "and which colour has it"):
            await say(app, text)
    contents = [content for _, content in prompt_of(model)]
    assert contents[-3] == "the second answer"
    assert sum(content == "the first answer" for content in contents) == 1
    assert sum("and which colour has it" in content for content in contents[:-2]) == 0
    assert contents[-1] == "and which colour has it"


async def test_o10_each_message_is_served_what_was_found_for_itself() -> None:
    async with memory_app() as app:
        await say(app, WATER, chat="notes")
        await say(app, PASSPORT, chat="other notes")
        water = await say(app, ASKED)
        passport = await say(app, "passport?", chat="another")
    assert water.recalled[0].episode.text == WATER
    assert passport.recalled[0].episode.text == PASSPORT


async def test_o11_the_recalled_memories_name_the_message_that_they_were_found_for() -> None:
    model = ScriptedModel()
    async with memory_app(model=model) as app:
        for text in (WATER, PASSPORT):
            await say(app, text, chat=text)
        for text in (ASKED, "where is\n my passport"):
            await say(app, text)
    assert f'Found for: "{ASKED}"' in prompt_of(model, 2)[-2][1].splitlines()
    assert 'Found for: "where is my passport"' in prompt_of(model, 3)[-2][1].splitlines()


@pytest.mark.parametrize("odd", ODD)
async def test_o13_what_looks_like_a_template_in_memory_stays_what_it_is(odd: str) -> None:
    model = ScriptedModel()
    identity = f"You are GOAT. {odd}"
    async with memory_app(Settings(identity=IdentitySettings(base_prompt=identity)), model=model) as app:
        await app.backends.permanent.put_fact("admin", "shell", odd, app.backends.clock.now(), None)
        await say(app, f"the template of the boiler is {odd}", chat="notes")
        await say(app, "which template has the boiler")
    (_, system), (_, data), _ = prompt_of(model)
    assert identity in system
    assert f"- shell: {odd}" in system
    assert f"the template of the boiler is {odd}" in "\n".join(quoted(data))


@pytest.mark.parametrize("odd", ODD)
async def test_o21_braces_and_line_breaks_of_a_message_stay_what_they_are(odd: str) -> None:
    model = ScriptedModel()
    async with memory_app(model=model) as app:
        await say(app, WATER, chat="notes")
        for text in (f"when does the boiler need water {odd}", "thanks"):
            await say(app, text)
    asked, later = prompt_of(model, 1), prompt_of(model, 2)
    assert asked[-1] == ("user", f"when does the boiler need water {odd}")
    assert WATER in quoted(asked[-2][1])
    assert later[1][1].endswith(f"when does the boiler need water {odd}")


async def test_o15_a_message_whose_turn_failed_is_answered_when_it_comes_again_and_stands_once() -> None:
    model = ScriptedModel([ModelError("m", "it is down", "Try later."), "milk it is", "here"])
    async with memory_app(model=model) as app:
        with pytest.raises(ModelError):
            await say(app, "remember the milk", key="update 1")
        await say(app, "remember the milk", key="update 1")
        await say(app, "are you back?", key="update 2")
    talk = [(role, content.rpartition("\n")[2]) for role, content in prompt_of(model)[1:-2]]
    assert talk == [("user", "remember the milk"), ("assistant", "milk it is")]


async def test_o22_every_part_of_the_prompt_stands_in_it_once() -> None:
    model = ScriptedModel()
    async with memory_app(model=model) as app:
        await app.backends.permanent.put_fact("admin", "name", "Ana", app.backends.clock.now(), None)
        await say(app, WATER, chat="notes")
        for text in (ASKED, "the boiler, does it need water each week", "what about the boiler and its water"):
            await say(app, text)
    whole = "\n".join(content for _, content in prompt_of(model))
    assert "the boiler, does it need water each week" in whole
    parts = ("You are GOAT", "How to read what follows", "- name: Ana", "Current time:", "Found for:", f"> {WATER}")
    assert {part: whole.count(part) for part in parts} == dict.fromkeys(parts, 1)


async def test_o34_the_best_memory_stands_first_right_before_the_message() -> None:
    model = ScriptedModel()
    async with memory_app(model=model) as app:
        for number in range(12):
            await say(app, f"small talk number {number} about the weather", chat="notes")
        await say(app, "the boiler needs water on Friday", chat="notes")
        for number in range(8):
            await say(app, f"let us talk of topic {number}")
        result = await say(app, "when does the boiler need water")
    roles = [role for role, _ in prompt_of(model)]
    assert roles[-2:] == ["user", "user"]
    assert quoted(prompt_of(model)[-2][1])[0] == "the boiler needs water on Friday"
    assert result.recalled[0].episode.text == "the boiler needs water on Friday"


async def test_memory_27_facts_and_memories_keep_their_place_when_the_conversation_is_trimmed() -> None:
    model = ScriptedModel()
    settings = Settings(working=WorkingSettings(max_messages=4, trim_surplus=2))
    async with memory_app(settings, model=model) as app:
        await app.backends.permanent.put_fact("admin", "name", "Ana", app.backends.clock.now(), None)
        await say(app, "good morning")
        await say(app, "the alarm code is 7714-QX")
        for number in range(12):
            await say(app, f"zebra story number {number}")
        result = await say(app, "what is the alarm code")
    systems = {prompt_of(model, number)[0][1] for number in range(len(model.requests))}
    talk = "\n".join(content for _, content in prompt_of(model)[1:-2])
    assert len(systems) == 1
    assert "- name: Ana" in systems.pop()
    assert "7714-QX" not in talk
    assert "the alarm code is 7714-QX" in quoted(prompt_of(model)[-2][1])
    assert result.recalled[0].episode.text == "the alarm code is 7714-QX"
