"""Play a conversation with the Telegram bot against the fake Bot API and draw what stands on the screen in the end.

usage: telegram_picture.py [FILE]

The bot is the real one; only its model follows a script. FILE is `docs/telegram.png` unless it is given.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from telephone import picture

from goat.interfaces.telegram.client import TelegramClient
from goat.interfaces.telegram.door import Door, Told, introduced
from goat.interfaces.telegram.message import Me
from goat.interfaces.telegram.status import Status
from goat.records.models import Reply, ToolCall
from goat.settings import Settings
from goat.testing.app import memory_app
from goat.testing.bot_api import FakeBotApi, Person, Seen
from goat.testing.clock import HeldClock
from goat.testing.models import ScriptedModel
from goat.tools import tool

TARGET = Path(__file__).resolve().parent.parent / "docs" / "telegram.png"
PATIENCE_SECONDS = 60.0
BEGIN = datetime(2026, 3, 2, 18, 40, tzinfo=UTC)

PDF = b"%PDF-1.7" + bytes(188_000)
READ = ToolCall("c1", "shell_run", '{"command": "pdftotext inbox/*-1.pdf - | grep -i total"}')
ANSWERS = (
    "Noted: **Zefir** lies in Sulina at **berth 14**, and the harbour office there closes at four.",
    "Only by water, as no road leads to Sulina:\n\n- the **ferry**, 13:30, about four hours\n"
    "- the **fast boat**, 08:00, an hour and a half\n\n"
    "Your office closes at four, so take the fast boat.",
    Reply("", (READ,), finish_reason="tool_calls"),
    "The new sail comes to **1,240 EUR**, to be paid by `14 March`.",
)


@tool(name="shell_run", permission="ask")
async def shell(command: str) -> str:
    """Run a command in the workspace."""
    return "Total: 1,240 EUR"


async def play() -> tuple[Seen, ...]:
    """The messages of one conversation, as they stand at its end."""
    clock = HeldClock(BEGIN)
    async with FakeBotApi(clock=clock) as api:
        ana = api.person("Ana")
        told = {"telegram": {"admin_chat_id": ana.id, "drain_seconds": 0}, "tools": {"approval_seconds": 3600}}
        settings = Settings.model_validate(told)
        with tempfile.TemporaryDirectory() as folder:
            async with (
                memory_app(settings, Path(folder), model=ScriptedModel(ANSWERS), clock=clock) as app,
                TelegramClient(api.token, api=api.base_url, files=api.base_file_url) as client,
            ):
                app.acting.outfit.add(lambda: [shell])
                status = Status(clock, app.backends.observer.notice)
                account = await introduced(client, app, status)
                shows = Told(lambda me: None, lambda me, code: None, lambda entry: None)
                door = Door(app, client, Me(account["id"], account["username"]), status, shows)
                stop = asyncio.Event()
                running = asyncio.create_task(door.run(stop))
                passing = asyncio.create_task(_pass_time(clock))
                await _talk(api, ana, clock)
                shown = api.screen(ana).messages
                stop.set()
                await asyncio.wait_for(running, PATIENCE_SECONDS)
                passing.cancel()
        return shown


async def _pass_time(clock: HeldClock) -> None:
    """Let the clock go, so that what waits for it goes on."""
    while True:
        await asyncio.sleep(0.02)
        clock.move(0.05)


async def _talk(api: FakeBotApi, ana: Person, clock: HeldClock) -> None:
    """What Ana does; each step waits for what the bot says to the one before."""

    async def answered(count: int) -> None:
        await api.until(lambda: len(api.screen(ana).answers) == count, PATIENCE_SECONDS)
        clock.move(60)

    ana.says("My boat Zefir lies in Sulina, berth 14. The harbour office closes at four.")
    await answered(1)
    clock.move(13 * 3600)
    ana.says("How do I get there from Tulcea? And when must I be at the office?")
    await answered(2)
    ana.sends_document("sail-invoice.pdf", PDF, "application/pdf", caption="What does the yard want for the new sail?")
    await answered(3)
    ana.taps(api.screen(ana).last, "✅ Yes")
    await answered(4)
    ana.says("/forget sail")
    await answered(5)


def main(arguments: list[str]) -> int:
    """Play, draw and write the picture."""
    path = Path(arguments[0]) if arguments else TARGET
    picture(asyncio.run(play())).save(path, optimize=True)
    print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
