from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import goat
from goat.settings.catalogue import catalogue
from goat.settings.document import configuration
from goat.settings.providers import providers

ROOT = Path(goat.__file__).parents[2]
SCRIPT = ROOT / "scripts" / "make_docs.py"


def test_the_page_in_the_repository_is_current() -> None:
    assert (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8") == configuration()


def test_the_page_names_every_setting_with_all_its_names() -> None:
    page = configuration()
    for key in catalogue().values():
        row = next(
            line for line in page.splitlines() if line.startswith(f"| `{key.name}` |") and key.environment[-1] in line
        )
        assert all(f"`{name}`" in row for name in key.environment)
        assert str(key.field.description) in row


def test_the_page_names_every_provider() -> None:
    page = configuration()
    assert all(f"| `{row.id}`" in page for row in providers().values())


def test_the_page_shows_types_limits_and_defaults() -> None:
    page = configuration()
    assert "| `budget_base` | whole number, above 0 | `2000` |" in page
    assert "| `drift_warm` | number, above 0 up to 1, optional | calibrated |" in page
    assert "| `reflex` | `auto`, `never`, `always` | `auto` |" in page
    assert "| `groq` | secret |  |" in page


def test_a_stale_page_fails_the_check_and_writing_mends_it(tmp_path: Path) -> None:
    script = tmp_path / "scripts" / SCRIPT.name
    script.parent.mkdir()
    script.write_text(SCRIPT.read_text(encoding="utf-8"), encoding="utf-8")
    page = tmp_path / "docs" / "configuration.md"

    def run(*arguments: str) -> int:
        return subprocess.run([sys.executable, str(script), *arguments], capture_output=True).returncode

    assert run("--check") == 1
    assert not page.exists()
    assert run() == 0
    assert run("--check") == 0
    page.write_text("stale", encoding="utf-8")
    assert run("--check") == 1
