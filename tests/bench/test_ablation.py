"""The table of what each stage is worth, as a person sees it."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from goat.bench.ablation import AUROC_COLUMN, COLUMNS, EVERY, LANGUAGES_COLUMN, SCATTERED_COLUMN, STAGES, table


def test_every_stage_and_every_figure_has_room_on_80_columns() -> None:
    columns = (*COLUMNS, SCATTERED_COLUMN, LANGUAGES_COLUMN, AUROC_COLUMN)
    row = {name: 0.812 if name == AUROC_COLUMN else 90.0 + place for place, name in enumerate(columns)}
    found = {stage if stage == EVERY else f"without {stage}": row for stage in STAGES}
    console = Console(width=80, record=True, file=StringIO())
    console.print(table(found, "made up: each stage off"))
    printed = console.export_text()
    assert "…" not in printed
    figures = [line.split()[-len(columns) :] for line in printed.splitlines() if line.rstrip().endswith("0.812")]
    assert figures == [[*(f"{90 + place:.1f}" for place in range(len(columns) - 1)), "0.812"]] * len(STAGES)
    for name in STAGES:
        assert name.split()[0] in printed
