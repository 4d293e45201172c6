"""`goat stats` against a count that another script makes from the same lines."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from dataclasses import fields as fields_of
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from goat.adapters.vector_memory import MemoryVectorIndex
from goat.cli.main import run
from goat.observability.analytics import MemoryAnalytics
from goat.observability.reader import read_lines
from goat.observability.recorder import REPORT_EVERY, Recorder
from goat.records.episodes import Incoming
from goat.records.models import Reply, ToolCall
from goat.records.turns import Notice, PrefetchRecord, TurnRecord
from goat.records.usage import Usage
from goat.settings import Settings
from goat.settings.sections import RecallSettings
from goat.testing.app import memory_app, say
from goat.testing.clock import FakeClock
from goat.testing.faults import Away, Late
from goat.testing.models import ScriptedModel
from goat.tools.tool import ToolContext, tool

DOCUMENT = Path(__file__).parents[2] / "docs" / "observability.md"
NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)

COUNT = """
import json, math, sys
lines = [json.loads(line) for path in sys.argv[1:] for line in open(path, encoding="utf-8")]
turns = [line for line in lines if line["kind"] == "turn"]
searches = [line for line in lines if line["kind"] == "prefetch"]
def tally(values):
    found = {}
    for value in values:
        found[value] = found.get(value, 0) + 1
    return found
def mean(values, of):
    return round(sum(values) / len(of), 4) if of else 0.0
def summed(rows):
    found = {}
    for row in rows:
        for name, value in row.items():
            if value is not True and value is not False and value is not None and not isinstance(value, str):
                found[name] = found.get(name, 0) + value
    return found
def middle(values):
    values = sorted(values)
    half = len(values) // 2
    return round(values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2, 3)
def p95(values):
    values = sorted(values)
    place = 0.95 * (len(values) - 1)
    below = math.floor(place)
    above = min(below + 1, len(values) - 1)
    return round(values[below] + (place - below) * (values[above] - values[below]), 3)
times = {"total": [turn["total_ms"] for turn in turns], "prefetch": [one["total_ms"] for one in searches]}
for turn in turns:
    for stage, took in turn["stage_ms"].items():
        times.setdefault(stage, []).append(took)
print(json.dumps({
    "turns": len(turns),
    "states": tally(turn["state"] for turn in turns),
    "served_by": tally(turn["served_by"] for turn in turns),
    "served_something_share": mean([turn["results_used"] > 0 for turn in turns], turns),
    "cut_by_deadline": sum(turn["cut_by_deadline"] for turn in turns),
    "lost": tally(name for turn in turns for name in turn["lost"]),
    "models": tally(turn["model"] for turn in turns),
    "model_calls": sum(turn["model_calls"] for turn in turns),
    "tool_calls": sum(turn["tool_calls"] for turn in turns),
    "failed_calls": sum(turn["failed_calls"] for turn in turns),
    "usage": summed(turn["usage"] for turn in turns),
    "mean_budget_tokens": mean([turn["budget_tokens"] for turn in turns], turns),
    "mean_prompt_tokens": mean([turn["prompt_tokens"] for turn in turns], turns),
    "mean_layer_tokens": {k: round(v / len(turns), 4) for k, v in summed(t["layer_tokens"] for t in turns).items()},
    "mean_results_found": mean([turn["results_found"] for turn in turns], turns),
    "mean_results_used": mean([turn["results_used"] for turn in turns], turns),
    "prefetches": len(searches),
    "prefetch_recipes": tally(one["recipe"] for one in searches),
    "prefetches_saved_share": mean([one["saved"] for one in searches], searches),
    "mean_prefetch_results": mean([one["results"] for one in searches], searches),
    "milliseconds": {name: {"median": middle(took), "p95": p95(took)} for name, took in times.items() if took},
    "notices": len([line for line in lines if line["kind"] == "notice"]),
}))
"""


def script(*files: Path) -> Any:
    """What the independent script counts in these lines."""
    command = [sys.executable, "-I", "-c", COUNT, *map(str, files)]
    return json.loads(subprocess.run(command, capture_output=True, check=True, timeout=90).stdout)


@tool
def weather(context: ToolContext, place: str) -> str:
    """The weather of a place.

    Args:
        place: Where.
    """
    return f"sunny in {place}"


def answers() -> list[Any]:
    """A model that calls a tool once, is unavailable once, and counts its tokens differently each time."""
    used = [Usage(prompt_tokens=100 + n, completion_tokens=5 + n, cost_usd=0.001 * n) for n in range(20)]
    asks = Reply("", model="one", usage=used[0], tool_calls=(ToolCall("1", "weather", '{"place": "Cluj"}'),))
    words = [Reply("Fine.", model=("one", "two")[n % 2], usage=used[n], failed_calls=n % 2) for n in range(1, 20)]
    return [asks, *words]


async def played(logs: Path) -> None:
    """A dialogue of two people, in two chats, on changing topics, through which stores fail and a deadline passes."""
    clock = FakeClock()
    recorder = Recorder(logs, lambda _notice: None)
    said = (
        ("ana", "home", "the blue boat lies in Sulina"),
        ("ana", "home", "where does the blue boat lie?"),
        ("ana", "home", "and how long does the blue boat lie in Sulina?"),
        (
            "ana",
            "work",
            "Please compare, step by step, why the invoices of last year do not add up, and then explain it",
        ),
        ("bob", "home", "hi"),
        ("bob", "home", "ma doare capul de doua zile, ce sa fac?"),
    )
    tools = Settings(recall=RecallSettings(deadline_ms=60_000))
    shared = {"clock": clock, "observer": recorder, "model": ScriptedModel(answers())}
    async with memory_app(tools, **shared) as app:
        app.acting.outfit.add(lambda: [weather])
        for owner, chat, text in said:
            await say(app, text, owner, chat)
            clock.move(3600)
    late = Late(MemoryVectorIndex())
    async with memory_app(Settings(recall=RecallSettings(deadline_ms=60)), **shared, vectors=late) as app:
        asked = Incoming("ana", "home", "is there anything at all about the sea?", clock.now(), source="test")
        await app.orchestrator.run(asked)
        await late.asked()
        clock.move(1)
        late.open.set()
        await app.settled()
    away = {"working": Away("WorkingStore"), "vectors": Away("VectorIndex")}
    async with memory_app(tools, **shared, **away) as app:
        await say(app, "and now?", "ana", "home")
    recorder.notice(Notice("a", "b"))
    recorder.close()


@pytest.fixture(scope="module")
def dialogue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("played")
    asyncio.run(played(home / "logs"))
    return home


def test_f_b51_the_figures_of_stats_agree_with_an_independent_count_after_a_played_dialogue(
    dialogue: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counted = script(dialogue / "logs" / "turns.jsonl")
    assert counted["turns"] == 8
    assert run(["stats", "--json", "--home", str(dialogue)]) == 0
    report = json.loads(capsys.readouterr().out)
    took, expected = report.pop("milliseconds"), counted.pop("milliseconds")
    assert report == counted
    assert took.keys() == expected.keys()
    for stage, spread in took.items():
        assert spread == pytest.approx(expected[stage], abs=0.002)  # the two round in another order
    assert run(["stats", "--home", str(dialogue)]) == 0
    assert "tool calls" in capsys.readouterr().out


def test_a86_every_field_of_the_turn_line_varies_over_a_dialogue_and_is_documented(dialogue: Path) -> None:
    lines = list(read_lines(dialogue / "logs"))
    for kind in ("turn", "prefetch"):
        records = [line for line in lines if line["kind"] == kind]
        fields = set(records[0]) - {"kind"}
        same = {name for name in fields if len({json.dumps(record[name]) for record in records}) == 1}
        assert same == set(), (kind, same)
    assert all("boat" not in json.dumps(line) for line in lines)
    told = DOCUMENT.read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_]+)`", told))
    assert {field.name for record in (TurnRecord, PrefetchRecord) for field in fields_of(record)} <= named
    assert set(MemoryAnalytics(lines).report()) <= named


def turn(number: int = 1, **more: object) -> TurnRecord:
    fields: dict[str, object] = {
        "at": NOON,
        "owner": "ana",
        "chat": "home",
        "state": ("cold", "warm", "drift")[number % 3],
        "served_by": "reflex",
        "confidence": 0.5,
        "complexity": 0.0,
        "budget_tokens": 2000,
        "prompt_tokens": 100 + number,
        "layer_tokens": {"L1": 10},
        "results_found": 4,
        "results_used": number % 4,
        "stage_ms": {"recall": 3.0},
        "total_ms": float(number),
        "model": "m",
        **more,
    }
    return TurnRecord(**fields)  # type: ignore[arg-type]


def test_each_hundred_turns_bring_a_report_on_these_hundred(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, lambda _notice: None)
    for number in range(2 * REPORT_EVERY + 5):
        recorder.turn(turn(number))
    recorder.close()
    reports = [line for line in read_lines(tmp_path) if line["kind"] == "report"]
    assert [line["turns"] for line in reports] == [REPORT_EVERY, REPORT_EVERY]
    assert MemoryAnalytics(read_lines(tmp_path)).turns == 2 * REPORT_EVERY + 5


def test_rotated_files_are_read_oldest_first_and_half_lines_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "turns.jsonl.2").write_text('{"n": 1}\n{"n": 2}\n')
    (tmp_path / "turns.jsonl.1").write_text('{"n": 3}\n{"n": 4')
    (tmp_path / "turns.jsonl").write_text('[]\n{"n": 5}\n')
    assert [line["n"] for line in read_lines(tmp_path)] == [1, 2, 3, 5]
    assert list(read_lines(tmp_path / "absent")) == []


def test_notices_are_counted_and_shown(tmp_path: Path) -> None:
    shown: list[Notice] = []
    recorder = Recorder(tmp_path, shown.append)
    recorder.notice(Notice("a", "b"))
    recorder.close()
    assert MemoryAnalytics(read_lines(tmp_path)).report()["notices"] == len(shown) == 1


async def test_a85_the_prompt_figure_counts_guidance_and_the_descriptions_of_the_tools() -> None:
    model = ScriptedModel(["Fine."])
    async with memory_app(model=model) as app:
        app.acting.outfit.add(lambda: [weather])
        await say(app, "the blue boat lies in Sulina")
        record = (await say(app, "where does the blue boat lie?")).record
        count = app.backends.tokens.count
    assert record is not None
    sent = model.requests[-1]
    said = sum(count(message.content) for message in sent.messages)
    described = sum(count(f"{one.name} {one.description} {json.dumps(one.parameters)}") for one in sent.tools)
    assert described > 200
    assert record.prompt_tokens == sum(record.layer_tokens.values())
    assert said + described <= record.prompt_tokens <= 1.3 * (said + described)
    assert described <= record.layer_tokens["tools"] <= 1.5 * described
