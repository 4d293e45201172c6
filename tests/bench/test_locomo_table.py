"""The tables of the LoCoMo bench: every measure of every system, with its goal and its interval."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from goat.bench.locomo import SYSTEMS, WITHOUT_TIMES, Asked, Outcome
from goat.bench.locomo_data import Question
from goat.bench.locomo_table import GOALS, sections, show, single_figures, write
from goat.bench.report import Figure, rows
from goat.bench.report import show as show_figures
from goat.bench.score import auroc_interval, interval
from goat.cli.bench import bench
from goat.cli.calibrate import calibrate

ROOT = Path(__file__).parents[2]


def outcome() -> Outcome:
    """Forty questions: GOAT finds the evidence of three of four, the bars none, and it doubts the unanswerable."""
    sessions = {"D1:1": "one", "D2:1": "two"}
    found = Outcome(embedder="test", ingested=2, ingest_seconds=1.0, samples=1)
    for number in range(40):
        category = str(number % 5 + 1)
        asked = Asked(Question("when?", category, frozenset({"D1:1"})), sessions)
        right = ["D1:1", "D2:1"] if number % 4 else ["D2:1"]
        asked.ranked = {"goat": right, WITHOUT_TIMES: ["D2:1"], **{bar: ["D2:1"] for bar in SYSTEMS[1:]}}
        asked.relevance = 0.2 if category == "5" else 0.9
        asked.in_prompt, asked.prompt_tokens = float(number % 4 > 0), 1000 + number
        found.asked.append(asked)
    for times in found.latency_ms.values():
        times.append(1.0)
    return found


def test_every_measure_stands_beside_the_bars_of_the_same_run_with_its_interval() -> None:
    table, categories, times = sections(outcome().asked)
    assert set(GOALS) <= {row.name for row in table.rows}
    for row in table.rows:
        assert tuple(row.found) == SYSTEMS
        for found in row.found.values():
            assert found.low <= found.mean <= found.high
    turns = next(row for row in table.rows if row.name == "turns any@10")
    assert (turns.found["goat"].mean, turns.found["bm25"].mean, turns.goal) == (75.0, 0.0, 90.0)
    assert categories.rows[-1].name == "categories 1 to 4 (n = 32) share@10"
    assert times.questions == 40
    assert all(row.goal is None for row in (*categories.rows, *times.rows))


def test_the_prompt_and_the_abstention_have_their_goals() -> None:
    prompt, tokens, abstention = single_figures(outcome().asked)
    assert (prompt.value, prompt.met) == (75.0, False)
    assert (tokens.value, tokens.met) == (1019.5, True)
    assert (abstention.value, abstention.met, abstention.interval) == (1.0, True, (1.0, 1.0))


def test_the_printed_table_says_which_goal_is_missed_and_the_document_holds_every_cell(tmp_path: Path) -> None:
    console = Console(width=160, record=True, file=StringIO())
    show(console, outcome(), "made up")
    printed = console.export_text()
    assert re.search(r"turns any@10 .*75\.0 \[\d.*≥ 90 missed", printed)
    assert re.search(r"abstention AUROC.*1\.000.*met", printed)
    write(tmp_path / "out.json", outcome(), "made up")
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["bench"] == "locomo"
    assert (document["samples"], document["questions"]) == (1, 40)
    assert document["results"]["goat"]["all"]["turn"]["any"]["10"] == 0.75
    by_name = {figure["name"]: figure for figure in document["figures"]}
    assert by_name["GOAT · evidence found · turns any@10"]["met"] is False
    assert len(by_name["BM25 · evidence found · sessions share@10"]["interval"]) == 2


def test_no_figure_is_cut_off_on_a_screen_of_80_columns() -> None:
    console = Console(width=80, record=True, file=StringIO())
    show(console, outcome(), "made up")
    printed = console.export_text()
    assert "…" not in printed
    assert len(re.findall(r"any@10 .*75\.0 .*≥ 90 *\n.* missed|≥ 95\.5 *\n.* missed", printed)) == 2
    assert printed.count("62.5–90.0") >= 8


def test_a_figure_without_an_interval_has_none_in_the_document_and_no_column() -> None:
    plain = Figure("speed", 3.0, "ms", 5.0)
    assert rows([plain]) == [{"name": "speed", "value": 3.0, "unit": "ms", "goal": 5.0, "met": True}]
    console = Console(width=160, record=True, file=StringIO())
    show_figures(console, "title", [plain])
    assert "interval" not in console.export_text()


def test_memory_29_the_same_answers_give_the_same_figures_to_the_last_digit() -> None:
    one, other = outcome(), outcome()
    assert sections(one.asked) == sections(other.asked)
    assert single_figures(one.asked) == single_figures(other.asked)
    assert interval([0.0, 1.0, 1.0]) == interval([0.0, 1.0, 1.0])
    assert auroc_interval([0.4, 0.9], [0.1, 0.6]) == auroc_interval([0.4, 0.9], [0.1, 0.6])


@pytest.mark.parametrize("page", ["README.md", "docs/retrieval.md"])
def test_memory_29_every_command_that_a_page_names_for_its_figures_exists(page: str) -> None:
    known = {
        f"{group.info.name} {command.name or command.callback.__name__.replace('_', '-')}"  # type: ignore[union-attr]
        for group in (bench, calibrate)
        for command in group.registered_commands
    }
    named = set(re.findall(r"goat ((?:bench|calibrate) [a-z-]+)", (ROOT / page).read_text(encoding="utf-8")))
    assert named
    assert named <= known
