"""`goat memory show`: a message with all that is kept beside it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from goat.app import open_app
from goat.cli.main import run
from goat.records.episodes import Incoming
from goat.settings import ModelSettings, Settings
from goat.settings.sections import RecallSettings

SETTINGS = Settings(model=ModelSettings(provider="offline"), recall=RecallSettings(deadline_ms=60_000))
SAID = "Yesterday I met Ana Popescu in Cluj about ticket TKT-4711"


async def talk(home: Path, *texts: str) -> None:
    """Each in a chat of its own."""
    async with open_app(SETTINGS, home, lambda notice: None) as app:
        for number, text in enumerate(texts):
            incoming = Incoming("admin", f"chat {number}", text, app.backends.clock.now())
            await app.orchestrator.run(incoming)
            await app.settled()


def shown(capsys: pytest.CaptureFixture[str], home: Path, *options: str) -> str:
    assert run(["memory", "show", "1", *options, "--home", str(home)]) == 0
    return capsys.readouterr().out


def test_a_message_is_shown_with_what_it_names_the_times_it_speaks_of_and_its_uses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(talk(tmp_path, SAID, "where did I meet Ana Popescu?", "what is the ticket of Ana Popescu?"))
    lines = shown(capsys, tmp_path).splitlines()
    assert "kind: statement" in lines
    assert "names: Ana Popescu (name); Cluj (place); tkt-4711 (code)" in lines
    assert any(line.startswith("speaks of: 2") for line in lines)
    assert any(line.startswith("recalled: 2 times, last 2") for line in lines)
    document = json.loads(shown(capsys, tmp_path, "--json"))
    assert {(entity["kind"], entity["text"]) for entity in document["entities"]} == {
        ("name", "Ana Popescu"),
        ("place", "Cluj"),
        ("code", "tkt-4711"),
    }
    assert document["uses"]["count"] == 2
