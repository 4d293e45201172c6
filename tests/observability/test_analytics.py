"""`goat stats` against a count that another script makes from the same lines."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from goat.observability.analytics import MemoryAnalytics
from goat.observability.reader import read_lines
from goat.observability.recorder import REPORT_EVERY, Recorder
from goat.records.turns import Notice, TurnRecord

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)

COUNT = """
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
turns = [line for line in lines if line["kind"] == "turn"]
searches = [line for line in lines if line["kind"] == "prefetch"]
def tally(name):
    found = {}
    for turn in turns:
        found[turn[name]] = found.get(turn[name], 0) + 1
    return found
totals = sorted(turn["total_ms"] for turn in turns)
middle = len(totals) // 2
print(json.dumps({
    "turns": len(turns),
    "states": tally("state"),
    "served_by": tally("served_by"),
    "models": tally("model"),
    "cut_by_deadline": len([turn for turn in turns if turn["cut_by_deadline"]]),
    "mean_results_used": round(sum(turn["results_used"] for turn in turns) / len(turns), 4),
    "mean_prompt_tokens": round(sum(turn["prompt_tokens"] for turn in turns) / len(turns), 4),
    "prefetches": len(searches),
    "median": totals[middle] if len(totals) % 2 else round((totals[middle - 1] + totals[middle]) / 2, 3),
}))
"""


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


def test_f_b51_the_figures_of_stats_agree_with_an_independent_count(tmp_path: Path) -> None:
    def goat(*arguments: str, text: str = "") -> bytes:
        command = [sys.executable, "-m", "goat", *arguments, "--home", str(tmp_path)]
        return subprocess.run(command, input=text.encode(), capture_output=True, timeout=90, check=True).stdout

    goat("chat", text="the boat is blue\nwhat colour is the boat?\nI like tea\nwhat do I like?\nand the boat?\n")
    report = json.loads(goat("stats", "--json"))
    lines = tmp_path / "logs" / "turns.jsonl"
    counted = json.loads(
        subprocess.run([sys.executable, "-c", COUNT, str(lines)], capture_output=True, check=True).stdout
    )
    assert report["milliseconds"]["total"]["median"] == counted.pop("median")
    assert {name: report[name] for name in counted} == counted
    assert report["turns"] == 5
    assert b"turns" in goat("stats")
    assert b"boat" not in lines.read_bytes()


def test_a86_no_figure_of_the_report_is_a_constant() -> None:
    def report(*records: TurnRecord) -> dict[str, object]:
        return MemoryAnalytics({"kind": "turn", **asdict(record)} for record in records).report()

    one, other = report(turn(1)), report(turn(2, lost=("L2",), cut_by_deadline=True, failed_calls=2, model="n"))
    same = {name for name in one if one[name] == other[name]}
    assert same <= {
        "turns", "served_by", "mean_budget_tokens", "mean_layer_tokens", "mean_results_found", "usage", "notices",
        "served_something_share", "prefetches", "prefetch_recipes", "prefetches_saved_share", "mean_prefetch_results",
    }  # fmt: skip


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
