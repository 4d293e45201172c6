"""Serves the Telegram bot until it is told to stop, and tells the person at the terminal how it goes."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress

from rich.console import Console

from goat.app import open_app
from goat.cli.session import consoles, notices_to
from goat.interfaces.telegram.access import CODE_LIFE
from goat.interfaces.telegram.boots import BREAKER
from goat.interfaces.telegram.client import TelegramClient
from goat.interfaces.telegram.door import Door, Told, introduced
from goat.interfaces.telegram.message import Me
from goat.interfaces.telegram.status import Status
from goat.records.arrivals import Admitted, Role
from goat.settings import Loaded, provider_of


async def serve(loaded: Loaded, token: str, safely: bool) -> None:
    """Run the bot; `safely` leaves out plugins and begins no turns. Raises `GoatError`."""
    out, err = consoles()
    show = notices_to(err)
    for notice in loaded.notices:
        show(notice)
    stop = asyncio.Event()
    _end_in_order(stop)
    api = loaded.settings.telegram.api_url.rstrip("/")
    async with (
        open_app(loaded.settings, loaded.home, show, act=not safely) as app,
        TelegramClient(token, api=f"{api}/bot", files=f"{api}/file/bot") as client,
    ):
        status = Status(app.backends.clock, app.backends.observer.notice)
        known = asyncio.ensure_future(introduced(client, app, status))
        stopped = asyncio.ensure_future(stop.wait())
        await asyncio.wait({known, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not known.done():
            known.cancel()
            return
        account = known.result()
        me = Me(int(account["id"]), str(account.get("username", "")))
        told = _told(out, has_model=provider_of(loaded.settings) is not None)
        await Door(app, client, me, status, told).run(stop, BREAKER if safely else 0)


def _end_in_order(stop: asyncio.Event) -> None:
    """Let SIGTERM and Ctrl-C end it in order; the second one ends it at once."""
    loop = asyncio.get_running_loop()
    itself = asyncio.current_task()

    def end() -> None:
        if stop.is_set() and itself is not None:
            itself.cancel()
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError):  # no signal handlers in this loop, as on Windows
            loop.add_signal_handler(number, end)


def _told(out: Console, has_model: bool) -> Told:
    """What the person at the terminal reads."""

    def say(text: str) -> None:
        out.print(text, highlight=False, markup=False, soft_wrap=True)

    def running(me: Me) -> None:
        say(f"GOAT runs as @{me.username} on Telegram. Ctrl-C stops it.")
        if not has_model:
            say("No language model is configured, so it answers by quoting memory. `goat setup` connects one.")

    def code(me: Me, code: str) -> None:
        minutes = int(CODE_LIFE.total_seconds() // 60)
        say(
            f"\nNobody may talk to it yet. Send this code to @{me.username} within {minutes} minutes to become its "
            f"admin:\n\n    {code}\n\nor open https://t.me/{me.username}?start={code.replace('-', '')}\n"
        )

    def arrived(entry: Admitted) -> None:
        role = "admin" if entry.role is Role.ADMIN else "a guest"
        say(f"{entry.name} (number {entry.number}) is {role} now.")

    return Told(running, code, arrived)
