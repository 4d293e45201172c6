"""The prompt's parts and their shares, whatever they hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.adapters.tokens_estimate import EstimatedTokens
from goat.records.episodes import Episode, Role
from goat.records.memory import Fact, HistoryMessage
from goat.records.search import Recalled
from goat.retrieval.when import find_windows
from goat.settings.sections import RetrievalBudgetSettings
from goat.turn.prompt import Material, Prompt, PromptBuilder

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
COUNTER = EstimatedTokens()
SHARES = RetrievalBudgetSettings()
HARD_CAP = 12000
(TODAY,) = find_windows("earlier today", NOW, UTC)
TEXT = st.text(max_size=60) | st.sampled_from(["word " * 300, "a" * 3000, "漢字" * 500, "short", ""])


def recalled(number: int, text: str) -> Recalled:
    episode = Episode(number, f"u{number}", "ana", "c", Role.USER, text, NOW, f"x{number}")
    return Recalled(episode, 0.9, 0.9)


def history(texts: list[str], minutes: int = 1) -> list[HistoryMessage]:
    return [
        HistoryMessage(
            number, (Role.USER, Role.ASSISTANT)[number % 2], text, NOW - timedelta(minutes=minutes * (99 - number))
        )
        for number, text in enumerate(texts)
    ]


def build(budget: int, **fields: object) -> Prompt:
    values: dict[str, object] = {
        "text": "hello",
        "identity": "You are GOAT.",
        "facts": (),
        "history": (),
        "recalled": (),
        "partners": {},
        "recalled_for": "hello",
        "now": NOW,
        "zone": UTC,
    }
    builder = PromptBuilder(COUNTER, SHARES, "[Recalled]", 1800, HARD_CAP)
    return builder.build(Material(**{**values, **fields}), budget)  # type: ignore[arg-type]


@given(
    text=TEXT,
    identity=TEXT,
    said=st.lists(TEXT, max_size=14),
    found=st.lists(TEXT, max_size=8),
    facts=st.lists(TEXT, max_size=4),
    budget=st.integers(2000, HARD_CAP),
    timed=st.booleans(),
    minutes=st.sampled_from([1, 60]),
)
def test_f_b36_the_parts_never_exceed_the_budget_and_what_was_found_is_never_left_out(
    text: str,
    identity: str,
    said: list[str],
    found: list[str],
    facts: list[str],
    budget: int,
    timed: bool,
    minutes: int,
) -> None:
    prompt = build(
        budget,
        text=text,
        identity=identity,
        history=history(said, minutes),
        recalled=[recalled(number, one) for number, one in enumerate(found)],
        facts=[Fact(f"k{number}", one, NOW) for number, one in enumerate(facts)],
        windows=(TODAY,) if timed else (),
    )
    cost = prompt.layer_tokens
    mandatory = cost["message"] + cost["system"] + cost["data"]
    floor = SHARES.l3_min_guarantee_tokens + SHARES.l2_floor_tokens
    widened = budget + SHARES.temporal_l3_guarantee_tokens - SHARES.l3_min_guarantee_tokens
    allowed = min(widened, HARD_CAP) if timed and found else budget
    assert prompt.tokens <= max(allowed, mandatory + floor)
    assert prompt.tokens <= HARD_CAP
    assert bool(prompt.shown) == bool(found)
    if said:
        newest = said[-1][:20]
        assert any(newest in message.content for message in prompt.messages[1:-2])


def test_a26_a_long_conversation_leaves_recalled_memories_their_guarantee() -> None:
    found = [recalled(number, "the passport is in the drawer " * 5) for number in range(20)]
    prompt = build(4352, history=history(["talk " * 200] * 30), recalled=found)
    assert prompt.layer_tokens["L3"] > SHARES.l3_min_guarantee_tokens * 0.9


def test_what_is_left_out_of_the_conversation_is_marked_in_the_next_message_of_the_person() -> None:
    said = ["we talk about boats", "fine", *["filler text " * 60] * 12, "the newest question", "the newest answer"]
    contents = [message.content for message in build(2100, history=history(said)).messages[1:-2]]
    assert contents[0].endswith("we talk about boats")
    marked = [content for content in contents if "earlier messages are left out" in content]
    assert len(marked) == 1
    assert marked[0].startswith("[earlier messages are left out here]\n[2026-03-02")


@pytest.mark.parametrize(
    ("passed", "told"),
    [
        (timedelta(seconds=20), "just now"),
        (timedelta(seconds=-20), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(hours=5, minutes=59), "5 hours ago"),
        (timedelta(days=40), "40 days ago"),
    ],
)
def test_the_data_message_says_how_long_ago_the_last_message_was(passed: timedelta, told: str) -> None:
    last = HistoryMessage(1, Role.USER, "hi", NOW - passed)
    data = build(3000, history=[last]).messages[-2].content
    assert f"Last message: {told}" in data
