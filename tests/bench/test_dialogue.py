"""The dialogue bench: its data, what counts as evidence in a prompt, and the drawing."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from goat.bench.dialogue import Played, evidence_in, figures, play
from goat.bench.dialogue_data import KINDS, Asked, Dialogue, Said, locomo_dialogues, own_dialogues
from goat.bench.locomo_data import Question, read
from goat.bench.thread_diagram import draw
from goat.records.models import ChatMessage, ModelRequest
from goat.records.turns import TurnRecord
from goat.settings.sections import RecallSettings
from goat.testing.clock import START

WHEN = "9:00 am on 2 March, 2026"
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


@pytest.mark.parametrize(
    ("evidence", "shown"),
    [
        ("my cup is teal", "my cup is not teal, it is blue"),
        ("it is 42", "maybe it is 42 or 17"),
        ("9am", "at 9:30 am, not at 9am sharp"),
        ("I like tea", "I like teak"),
        ("I like tea", "I said that I like tea"),
    ],
)
def test_f_b78_words_inside_another_message_are_no_evidence(evidence: str, shown: str) -> None:
    def request(text: str) -> ModelRequest:
        quoted = f'Current time: 9am\nFound for: "{evidence}"\n1. 2026-03-01 09:00, the person:\n> {text}'
        talk = [ChatMessage("system", evidence), ChatMessage("user", f"[2026-03-01 09:00]\n{text}")]
        return ModelRequest((*talk, ChatMessage("user", quoted), ChatMessage("user", evidence)))

    assert evidence_in(request(shown), [evidence]) == (0.0, 0.0, 0.0)
    assert evidence_in(request(evidence), [evidence]) == (1.0, 1.0, 1.0)


SMALL = Dialogue(
    "small",
    (Said("", "the blue boat lies in Sulina", START), Said("", "my sister plays the oboe", START)),
    (
        Asked("switch", "where does the blue boat lie?", ("the blue boat lies in Sulina",)),
        Asked("warm", "Once more, please: where does the blue boat lie?", ("the blue boat lies in Sulina",)),
        Asked("switch", "which instrument does my sister play?", ("my sister plays the oboe",)),
    ),
)


@pytest.fixture(scope="module")
def twice() -> list[Played]:
    """The same small dialogue for two owners in two modes, each mode on a copy of one archive."""
    patient = RecallSettings(deadline_ms=60_000)  # a busy machine changes nothing
    return asyncio.run(play([SMALL, replace(SMALL, name="other")], ("always", "auto"), lambda _told: None, patient))


def test_a92_a_run_of_the_bench_leaves_nothing_in_the_archive_of_the_next(twice: list[Played]) -> None:
    first = [one.record for one in twice if one.asked == SMALL.asked[0]]
    assert [(one.state, one.served_by) for one in first] == [("cold", "reflex")] * 4
    assert len({one.results_found for one in first}) == 1
    assert 1 <= first[0].results_found <= len(SMALL.said)  # what is in the archive, and no earlier question or reply


def test_a91_the_bench_plays_whole_turns_with_their_tools(twice: list[Played]) -> None:
    assert [one.in_prompt for one in twice] == [1.0] * 12
    assert all(one.record.layer_tokens["tools"] > 0 for one in twice)


def test_a93_evidence_that_cannot_occur_is_an_error_and_no_wrong_answer(tmp_path: Path) -> None:
    def sample(evidence: object) -> list[Question]:
        talk = {"session_1": [{"dia_id": "D1:1", "speaker": "Ana", "text": "hi"}], "session_1_date_time": WHEN}
        asked = {"question": "who?", "category": 1, "evidence": evidence}
        sound = {"question": "what?", "category": 1, "evidence": ["D1:1"]}
        path = tmp_path / "data.json"
        path.write_text(json.dumps([{"sample_id": "s", "conversation": talk, "qa": [asked, sound]}]), encoding="utf-8")
        return [question for question in read(path)[0].questions if question.text == "who?"]

    assert sample(["D9:9"]) == []
    assert [one.evidence for one in sample(["D1:1", "D9:9"])] == [{"D1:1"}]
    assert sample(None) == []


@pytest.mark.parametrize("evidence", ["D1:1", "D1:1; D1:2", ["D1:1", "D1:2"]])
def test_a90_evidence_in_one_string_is_not_split_into_characters(evidence: object, tmp_path: Path) -> None:
    said = [{"dia_id": f"D1:{n}", "speaker": "Ana", "text": "hi"} for n in (1, 2)]
    talk = {"session_1": said, "session_1_date_time": WHEN}
    asked = {"question": "who?", "category": 1, "evidence": evidence}
    path = tmp_path / "data.json"
    path.write_text(json.dumps([{"sample_id": "s", "conversation": talk, "qa": [asked]}]), encoding="utf-8")
    [question] = read(path)[0].questions
    assert question.evidence == set(re.findall(r"D1:\d", str(evidence)))


def test_a94_all_evidence_was_said_before_the_dialogue_and_is_archived() -> None:
    for dialogue in own_dialogues():
        said = {one.text for one in dialogue.said}
        asked = {one.text for one in dialogue.asked}
        evidence = {text for one in dialogue.asked for text in one.evidence}
        assert evidence <= said
        assert not evidence & asked


def test_a95_a_limit_is_heeded_before_anything_is_asked(tmp_path: Path) -> None:
    said = [{"dia_id": f"D1:{n}", "speaker": "Ana", "text": f"number {n} is prime"} for n in range(40)]
    asked = [{"question": f"is {n} prime?", "category": 1, "evidence": [f"D1:{n}"]} for n in range(40)]
    path = tmp_path / "data.json"
    talk = {"session_1": said, "session_1_date_time": WHEN}
    path.write_text(json.dumps([{"sample_id": "s", "conversation": talk, "qa": asked}]), encoding="utf-8")
    [one], [four] = locomo_dialogues(path, 1), locomo_dialogues(path, 4)
    assert len({asked.evidence for asked in one.asked if asked.kind == "switch"}) == 1
    assert len({asked.evidence for asked in four.asked if asked.kind == "switch"}) == 4


def test_a_missed_goal_is_a_missed_figure() -> None:
    shown = {one.name: one for one in figures([played(found=0.5), played(found=1.0)])}
    figure = shown["auto · cold (2 turns), evidence in the prompt"]
    assert (figure.value, figure.met) == (75.0, False)


def test_the_time_of_warm_turns_that_searched_is_shown_apart_and_has_no_goal() -> None:
    held, searched = played(state="warm"), played(state="warm")
    held = replace(held, record=replace(held.record, served_by="held"), added_ms=4.0)
    shown = {one.name: one for one in figures([held, replace(searched, added_ms=90.0)])}
    quick = shown["auto · warm, held (1 turns), beside the embedding, p95"]
    slow = shown["auto · warm, searched (1 turns), beside the embedding, p95"]
    assert (quick.value, quick.met) == (4.0, True)
    assert (slow.value, slow.goal) == (90.0, None)


def test_the_drawing_groups_turns_by_topic_and_names_the_days_between() -> None:
    page = draw([played(), played(state="warm"), played("return", topic="u", days=3)])
    assert page.count("subgraph") == 2
    assert "t2 -->|3 days later| t3" in page
    assert "| 2 | a warm message | warm | topic 1 | reflex | yes |" in page
