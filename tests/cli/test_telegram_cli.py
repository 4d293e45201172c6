"""`goat telegram` and `goat` at a person's hands: one sentence and an exit code for each way that it cannot run."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from goat.adapters.bot_lock import bot_lock
from goat.cli import exits
from goat.errors import BotInUse
from goat.testing.bot_api import FakeBotApi

PATIENCE = 240


def environment(folder: Path, **more: str) -> dict[str, str]:
    """A home and a folder for the lock of the test's own."""
    folder.mkdir(exist_ok=True)
    return {**os.environ, "GOAT_HOME": str(folder / "home"), "TMPDIR": str(folder), **more}


def goat(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "goat", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment(folder, **more), timeout=PATIENCE, check=False
    )


def test_without_a_token_it_says_where_to_get_one(tmp_path: Path) -> None:
    ended = goat(tmp_path, "telegram")
    assert ended.returncode == exits.BOT
    assert ended.stdout == ""
    assert ended.stderr.splitlines() == [
        "The Telegram bot cannot be run: it has no token. Make a bot with @BotFather in Telegram and put "
        f"TELEGRAM_BOT_TOKEN=… into {tmp_path / 'home' / '.env'}."
    ]


def test_what_is_no_token_is_said_so_without_showing_it(tmp_path: Path) -> None:
    ended = goat(tmp_path, "telegram", TELEGRAM_BOT_TOKEN="my-secret-thing")
    assert ended.returncode == exits.BOT
    assert len(ended.stderr.splitlines()) == 1
    assert "my-secret-thing" not in ended.stderr


async def test_telegram_a7_a_wrong_token_is_one_sentence_and_its_own_exit_code(tmp_path: Path) -> None:
    async with FakeBotApi() as api:
        ended = await asyncio.to_thread(
            goat, tmp_path, "telegram", TELEGRAM_BOT_TOKEN="4243:wrong-token", GOAT_TELEGRAM__API_URL=api.url
        )
    assert ended.returncode == exits.BOT
    (sentence,) = ended.stderr.splitlines()
    assert sentence == (
        "The Telegram bot cannot be run: Telegram refuses its token. "
        "Copy it again from @BotFather (/mybots, API Token)."
    )
    assert "wrong-token" not in ended.stdout + ended.stderr


def test_telegram_i10_a_webhook_without_a_secret_does_not_start(tmp_path: Path) -> None:
    ended = goat(
        tmp_path, "telegram", TELEGRAM_BOT_TOKEN="4242:x-y-z-z-y", GOAT_TELEGRAM__WEBHOOK_URL="https://example.org/hook"
    )
    assert ended.returncode == exits.BOT
    assert "a webhook without a secret would take messages from anybody" in ended.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM to wait for")
@pytest.mark.parametrize("arguments", [("telegram",), ()])
async def test_with_only_a_token_it_says_what_it_does_and_shows_the_code(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    async with FakeBotApi() as api:
        env = environment(tmp_path, TELEGRAM_BOT_TOKEN=api.token, GOAT_TELEGRAM__API_URL=api.url)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "goat", *arguments, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            assert process.stdout is not None
            code = await _code(process.stdout)
            ana = api.person("Ana")
            ana.says(code)
            (welcome,) = await api.answers(ana, 1, PATIENCE)
            assert welcome.startswith("Welcome. You are my admin")
            second = await asyncio.to_thread(goat, tmp_path, "telegram", "--home", str(tmp_path / "other"), **_of(api))
            assert second.returncode == exits.BOT_IN_USE
            assert second.stderr.startswith("The Telegram bot cannot be run: another GOAT on this machine runs the bot")
            process.send_signal(signal.SIGTERM)
            out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode == 0, err
        assert b"Ana (number 700001) is admin now." in out
        assert api.token.encode() not in out + err


def _of(api: FakeBotApi) -> dict[str, str]:
    return {"TELEGRAM_BOT_TOKEN": api.token, "GOAT_TELEGRAM__API_URL": api.url}


async def _code(stream: asyncio.StreamReader) -> str:
    """The code that the terminal shows, after the sentence that says what runs."""
    lines: list[str] = []
    async with asyncio.timeout(PATIENCE):
        while line := (await stream.readline()).decode():
            lines.append(line.strip())
            if len(lines[-1]) == 9 and lines[-1][4] == "-":
                break
    assert lines[:2] == [
        "GOAT runs as @goat_bot on Telegram. Ctrl-C stops it.",
        "No language model is configured, so it answers by quoting memory. `goat setup` connects one.",
    ]
    assert any("Send this code to @goat_bot within 60 minutes to become its admin" in line for line in lines)
    return lines[-1]


def test_telegram_a5_one_bot_is_never_held_twice(tmp_path: Path) -> None:
    with bot_lock(7, tmp_path):
        with pytest.raises(BotInUse, match="runs the bot 7 already"), bot_lock(7, tmp_path):
            pass
        with bot_lock(8, tmp_path):
            pass
    with bot_lock(7, tmp_path):
        pass
