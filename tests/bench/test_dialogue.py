"""The dialogue bench: its data, what counts as evidence in a prompt, and the drawing."""

from __future__ import annotations

from datetime import UTC, datetime

from goat.bench.dialogue import Played, evidence_in, figures
from goat.bench.dialogue_data import KINDS, Asked, own_dialogues
from goat.bench.thread_diagram import draw
from goat.records.models import ChatMessage, ModelRequest
from goat.records.turns import TurnRecord

NOW = datetime(2026, 3, 2, tzinfo=UTC)


def played(kind: str = "switch", state: str = "cold", topic: str = "t", found: float = 1.0, days: int = 0) -> Played:
    record = TurnRecord(
        at=NOW,
        owner="o",
        chat="c",
        state=state,
        served_by="reflex",
        confidence=0.0,
        complexity=0.0,
        budget_tokens=2000,
        prompt_tokens=100,
        layer_tokens={},
        results_found=1,
        results_used=1,
        stage_ms={},
        total_ms=1.0,
        model="m",
    )
    return Played("auto", "d", Asked(kind, f"a {state} message", ("e",), days), record, topic, found, 0.0, found, 3.0)


def test_every_shipped_dialogue_has_every_kind_of_message_it_promises_and_evidence_that_was_said() -> None:
    dialogues = own_dialogues()
    assert {one.name.partition("-")[0] for one in dialogues} == {"en", "ro", "ja"}
    for dialogue in dialogues:
        said = {one.text for one in dialogue.said}
        assert {asked.kind for asked in dialogue.asked} <= set(KINDS)
        assert {"switch", "warm", "drift", "return"} <= {asked.kind for asked in dialogue.asked}
        assert all(asked.evidence and set(asked.evidence) <= said for asked in dialogue.asked)


def test_evidence_counts_where_it_stands_quoted_or_in_the_conversation() -> None:
    messages = (
        ChatMessage("system", "facts that hold evidence three"),
        ChatMessage("user", "evidence two"),
        ChatMessage("user", "Current time\n1. the person:\n> evidence\n> one"),
        ChatMessage("user", "evidence four"),
    )
    request = ModelRequest(messages)
    assert evidence_in(request, ["evidence one", "evidence two"]) == (0.5, 0.5, 1.0)
    assert evidence_in(request, ["evidence three", "evidence four"]) == (0.0, 0.0, 0.0)


def test_a_missed_goal_is_a_missed_figure() -> None:
    shown = {one.name: one for one in figures([played(found=0.5), played(found=1.0)])}
    figure = shown["auto · cold (2 turns), evidence in the prompt"]
    assert (figure.value, figure.met) == (75.0, False)


def test_the_drawing_groups_turns_by_topic_and_names_the_days_between() -> None:
    page = draw([played(), played(state="warm"), played("return", topic="u", days=3)])
    assert page.count("subgraph") == 2
    assert "t2 -->|3 days later| t3" in page
    assert "| 2 | a warm message | warm | topic 1 | reflex | yes |" in page
