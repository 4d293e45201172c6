"""kill -9 while uses are counted and messages are enriched: what was counted stays, and every message is noted once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")

SEEDS = (("uses_counted", 1), ("uses_counted", 2), ("enrichment_found", 2), ("enrichment_noted", 1))

TALK = """
import asyncio, json, sys
from datetime import UTC, datetime
from pathlib import Path

from goat.app import open_app
from goat.memory.enrich import entities_in
from goat.records.episodes import Incoming, NewEpisode, Role
from goat.settings import ModelSettings, Settings
from goat.settings.sections import RecallSettings

FACT = "the boiler pressure must be 1.5 bar"
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def brought(number):
    text = f"Message {number} tells of Ana"
    return NewEpisode("admin", "old", Role.USER, text, NOON, f"x{number}", source="import", key=str(number),
                      to_enrich=True)


async def main(home):
    recall = RecallSettings(deadline_ms=60_000)
    settings = Settings(model=ModelSettings(provider="offline"), recall=recall)
    async with open_app(settings, Path(home), lambda notice: None) as app:
        for place, text in enumerate((FACT, "which pressure must the boiler have", "how much pressure has the boiler")):
            now = app.backends.clock.now()
            await app.orchestrator.run(Incoming("admin", f"c{place}", text, now, source="test", key=text))
            await app.settled()
            if place == 0:
                await app.memory.archive.append([brought(number) for number in range(66)])
        app.memory.archive.follow_meaning()
        await app.settled()
        kept = await app.backends.journal.recent("admin", "old", 1000)
        uses = await app.backends.uses.of("admin", range(1, 1000))
        print(json.dumps({
            "brought": len(kept),
            "noted": sum(bool(entities_in(one.meta)) for one in kept),
            "waiting": len(await app.backends.enrichment.waiting(1000)),
            "fact": uses[1].count if 1 in uses else 0,
            "said": [one.text for chat in ("c0", "c1", "c2")
                     for one in await app.backends.journal.recent("admin", chat, 99) if one.role == "user"],
        }))


asyncio.run(main(sys.argv[1]))
"""


def talk(home: Path, failpoint: str = "") -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, **({"GOAT_FAILPOINT": failpoint} if failpoint else {})}
    return subprocess.run(
        [sys.executable, "-c", TALK, str(home)], capture_output=True, env=env, timeout=90, check=False
    )


def told(ended: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


@pytest.mark.parametrize(("point", "arrival"), SEEDS)
def test_a47_a_kill_while_things_are_noted_loses_and_doubles_nothing(point: str, arrival: int, tmp_path: Path) -> None:
    killed = talk(tmp_path, f"{point}:{arrival}")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    after = told(talk(tmp_path))
    assert (after["brought"], after["noted"], after["waiting"]) == (66, 66, 0)
    assert len(after["said"]) == len(set(after["said"])) == 3
    # A use that was counted stays; one that a kill took from its writing is counted by no later turn, for a redelivered
    # message is not answered anew.
    counted = {"uses_counted": 2}.get(point, 1)
    assert counted <= after["fact"] <= 2
