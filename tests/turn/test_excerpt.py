"""A long message is quoted by the part that was found, and leaves the others their room."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from goat.adapters.tokens_estimate import EstimatedTokens
from goat.app import App
from goat.memory.tools import Answer
from goat.records.episodes import Episode, NewEpisode, Role, Span
from goat.records.memory import ThreadState
from goat.records.search import Recalled
from goat.retrieval.passages import split_passages
from goat.settings.sections import RetrievalBudgetSettings
from goat.testing.app import memory_app, say
from goat.testing.models import ScriptedModel
from goat.turn.excerpt import excerpt
from goat.turn.prompt import Material, Prompt, PromptBuilder

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
ANSWER = "The boiler warranty ends on 3 March 2029."
QUESTION = "When does the boiler warranty end?"


def document(paragraphs: int) -> str:
    before = [f"Paragraph {number} speaks about the board and its members." for number in range(paragraphs)]
    after = [f"Section {number} lists rules for the garden and the parking lot." for number in range(paragraphs)]
    return " ".join([*before, ANSWER, *after])


async def archive(app: App, *texts: str, exchange: str = "") -> None:
    now = app.backends.clock.now()
    await app.memory.archive.append(
        [
            NewEpisode(
                *("admin", f"notes {n}", Role.USER, text, now, exchange or f"x{n}"), passages=split_passages(text)
            )
            for n, text in enumerate(texts)
        ]
    )
    await app.memory.archive.embed()


def data_of(model: ScriptedModel) -> str:
    return model.requests[-1].messages[-2].content


@pytest.mark.parametrize("paragraphs", [40, 400])
async def test_of_a_long_message_the_passage_that_was_found_is_quoted_with_those_beside_it(paragraphs: int) -> None:
    model = ScriptedModel()
    others = ("The boiler makes a noise at the end of the day.", "The warranty of the bicycle ends in May.")
    async with memory_app(model=model) as app:
        await archive(app, document(paragraphs), *others)
        result = await say(app, QUESTION)
    data = data_of(model)
    last = paragraphs - 1
    assert ANSWER in data
    assert f"Paragraph {last} " in data
    assert "Section 0 " in data
    assert "Paragraph 0 " not in data
    assert f"Section {last} " not in data
    assert data.count("[…]") == 2
    assert all(other in data for other in others)
    assert result.record
    assert result.record.layer_tokens["L3"] < 600


async def test_what_a_thread_holds_is_quoted_by_the_passage_that_was_found() -> None:
    model = ScriptedModel()
    async with memory_app(model=model) as app:
        await archive(app, document(100))
        await say(app, QUESTION)
        await say(app, "The boiler warranty, when does it end?")
        result = await say(app, QUESTION)
    assert result.record
    assert (result.record.state, result.record.served_by) == (ThreadState.WARM, "held")
    assert ANSWER in data_of(model)
    assert "Paragraph 0 " not in data_of(model)


async def test_a_tool_gives_the_whole_of_a_long_message() -> None:
    async with memory_app() as app:
        await archive(app, document(100))
        tools = app.acting.outfit
        search = next(one for one in tools.toolbox() if one.name == "search_memory")
        answer = await search.handler(context=tools.context("admin", "c"), **search.validated({"query": QUESTION}))
    assert isinstance(answer, Answer)
    assert answer.found[0].text == document(100)


async def test_a_short_message_is_quoted_whole() -> None:
    model = ScriptedModel()
    text = f"Minutes of the meeting.\n\n{ANSWER}\n" + "The garden is to be watered twice a week. " * 20
    async with memory_app(model=model) as app:
        await archive(app, text)
        await say(app, QUESTION)
    assert "".join(f"> {line}\n" for line in text.splitlines()) in data_of(model) + "\n"


async def test_of_the_rest_of_a_recalled_exchange_a_long_message_is_quoted_by_its_beginning() -> None:
    model = ScriptedModel()
    async with memory_app(model=model) as app:
        rest = " ".join(f"Rule {number} is of no interest." for number in range(500))
        await archive(app, "The boiler warranty ends in March, I think.", rest, exchange="x")
        await say(app, QUESTION)
    assert "> Rule 0 is of no interest." in data_of(model)
    assert "Rule 499 " not in data_of(model)
    assert data_of(model).endswith(" […]")


def recalled(number: int, text: str) -> Recalled:
    return Recalled(Episode(number, f"u{number}", "ana", "c", Role.USER, text, NOW, f"x{number}"), 0.9, 0.9)


def build(results: list[Recalled], rest: dict[int, list[Episode]]) -> Prompt:
    builder = PromptBuilder(EstimatedTokens(), RetrievalBudgetSettings(), "[Recalled]", 1800, 12000)
    return builder.build(Material("hi", "You are GOAT.", (), (), results, rest, "hi", NOW, UTC), 2000)


def exchange_of(number: int) -> dict[int, list[Episode]]:
    """A dozen messages that together are longer than the prompt."""
    return {number: [replace(recalled(100 + n, "word " * 300).episode, exchange_id=f"x{number}") for n in range(12)]}


def test_what_does_not_fit_is_left_out_and_what_stands_behind_it_is_not() -> None:
    results = [recalled(1, "the first"), recalled(2, "with a long exchange"), recalled(3, "the third")]
    prompt = build(results, exchange_of(2))
    assert [one.episode.id for one in prompt.shown] == [1, 3]
    data = prompt.messages[-2].content
    assert "1. 2026-03-02 09:00, the person:\n> the first\n2. 2026-03-02 09:00, the person:\n> the third" in data
    assert "with a long exchange" not in data


def test_the_first_result_is_cut_rather_than_left_out_and_leaves_room_for_the_others() -> None:
    prompt = build([recalled(1, "with a long exchange"), recalled(2, "the second")], exchange_of(1))
    assert [one.episode.id for one in prompt.shown] == [1, 2]
    data = prompt.messages[-2].content
    assert "> with a long exchange" in data
    assert "word […]\n2." in data
    assert "> the second" in data


@pytest.mark.parametrize(
    ("part", "quoted"),
    [
        (Span(0, 3), "One […]"),
        (Span(4, 7), "[…] two […]"),
        (Span(8, 13), "[…] three"),
        (Span(0, 14), "One two three "),
        (None, "One two three"),
    ],
)
def test_a_mark_stands_where_words_are_left_out(part: Span | None, quoted: str) -> None:
    assert excerpt("One two three ", part) == quoted
