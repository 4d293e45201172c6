"""kill -9 while the thread is written: nothing is lost, nothing doubled, and the thread goes on."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

POINTS = (
    "classified",
    "followers_written",
    "enriching_found",
    "history_appended",
    "history_trimmed",
    "prefetch_found",
    "prefetch_saved",
)
FACT = "the boiler pressure must be 1.5 bar"
LAST = "and which pressure does the boiler have"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")

TALK = """
import asyncio, json, sys
from pathlib import Path

from goat.app import open_app
from goat.memory.enriching import Written
from goat.records.episodes import Incoming, NewEpisode, Role
from goat.retrieval.passages import split_passages
from goat.settings import ModelSettings, Settings
from goat.settings.sections import WorkingSettings

FACT = "the boiler pressure must be 1.5 bar"


async def store(app):
    episode = NewEpisode("admin", "c", Role.USER, FACT, app.backends.clock.now(), "fact", source="tool", key="fact",
                         passages=split_passages(FACT))
    (appended,) = await app.memory.archive.append([episode])
    app.enriching.note("admin", "c", Written(FACT, appended.episode.id))


async def main(home, texts):
    working = WorkingSettings(max_messages=4, trim_surplus=2)
    settings = Settings(model=ModelSettings(provider="offline"), working=working)
    async with open_app(settings, Path(home), lambda notice: None) as app:
        for number, text in enumerate(texts):
            if number == 1:
                await store(app)
            now = app.backends.clock.now()
            await app.orchestrator.run(Incoming("admin", "c", text, now, source="test", key=text))
            await app.settled()
        thread = (await app.memory.thread("admin", "c")).value
        layers = await app.memory.prompt_layers("admin", "c", 10**6)
        recent = await app.backends.journal.recent("admin", "c", 100)
        print(json.dumps({
            "topic": thread.topic_id, "turns": thread.turn_count, "held_for": thread.held_for,
            "held": [one.episode_id for one in thread.held],
            "history": [one.episode_id for one in layers.history],
            "said": [[one.id, one.role, one.text] for one in recent],
        }))


asyncio.run(main(sys.argv[1], sys.argv[2:]))
"""


def talk(home: Path, texts: list[str], failpoint: str = "") -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, **({"GOAT_FAILPOINT": failpoint} if failpoint else {})}
    command = [sys.executable, "-c", TALK, str(home), *texts]
    return subprocess.run(command, capture_output=True, env=env, timeout=90, check=False)


@pytest.mark.parametrize("seed", range(len(POINTS)))
def test_a_kill_while_the_thread_is_written_loses_and_doubles_nothing(seed: int, tmp_path: Path) -> None:
    source = random.Random(seed)
    point = POINTS[seed]
    most = 1 if point in {"enriching_found", "history_trimmed"} else 4
    words = source.sample(["today", "now", "please", "here"], 4)
    texts = [f"what pressure must the boiler have {word}" for word in words]
    killed = talk(tmp_path, texts, f"{point}:{source.randint(1, most)}")
    assert killed.returncode == -signal.SIGKILL, killed.stderr

    # Every message is delivered again, as a front door does after a crash, and one more comes.
    after = talk(tmp_path, [*texts, LAST])
    assert after.returncode == 0, after.stderr
    found = json.loads(after.stdout)
    said = [text for _, role, text in found["said"] if role == "user"]
    assert sorted(said) == sorted([*texts, FACT, LAST])
    answers = [text for _, role, text in found["said"] if role == "assistant"]
    assert len(answers) == len(texts) + 1
    assert found["topic"]
    newest_question = max(number for number, role, _ in found["said"] if role == "user")
    assert found["held_for"] == newest_question
    assert found["held"]
    assert len(set(found["held"])) == len(found["held"])
    assert len(set(found["history"])) == len(found["history"])
    assert found["history"][-1] == max(number for number, _, _ in found["said"])
