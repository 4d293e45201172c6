"""The Telegram bot put together: from the token to an orderly end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from goat.app import App
from goat.errors import BotUnusable
from goat.interfaces.telegram.access import CODE_LIFE, Access
from goat.interfaces.telegram.address import CHANNEL, Address
from goat.interfaces.telegram.admin_commands import AdminCommands
from goat.interfaces.telegram.asker import TelegramAsker
from goat.interfaces.telegram.buttons import Buttons
from goat.interfaces.telegram.carrying_on import carrying_on
from goat.interfaces.telegram.client import TelegramClient
from goat.interfaces.telegram.commands import TelegramCommands
from goat.interfaces.telegram.continuing import Continuing
from goat.interfaces.telegram.desk import FrontDesk
from goat.interfaces.telegram.dispatch import Dispatch
from goat.interfaces.telegram.doubts import Doubts
from goat.interfaces.telegram.egress import Egress, Surroundings
from goat.interfaces.telegram.failures import BotApiError, TokenRefused
from goat.interfaces.telegram.files import Files
from goat.interfaces.telegram.handling import Handling
from goat.interfaces.telegram.ingress import KINDS, Intake, Polling
from goat.interfaces.telegram.menu import publish
from goat.interfaces.telegram.message import Me, Sender
from goat.interfaces.telegram.pairing import Pairing
from goat.interfaces.telegram.status import State, Status
from goat.interfaces.telegram.turns import Staff, Turns
from goat.interfaces.texts import texts_for
from goat.records.arrivals import Admitted, Role
from goat.records.episodes import Outgoing
from goat.records.turns import Notice

_LONGEST: Final = 60.0
_CLOSING_SECONDS: Final = 3.0


@dataclass(frozen=True, slots=True)
class Told:
    """What the terminal is shown: that the bot runs, the code for the admin, and who came in with a code."""

    running: Callable[[Me], None]
    code: Callable[[Me, str], None]
    arrived: Callable[[Admitted], None]


def bot_number(token: str) -> int:
    """The bot's id, which its token begins with. Raises `BotUnusable` for what is no token."""
    number, colon, rest = token.partition(":")
    if not (colon and rest and number.isascii() and number.isdecimal()):
        raise BotUnusable(
            "what is set as its token is none, since a token looks like 123456789:AAE…",
            "Copy it from @BotFather (/mybots, API Token) into TELEGRAM_BOT_TOKEN.",
        )
    return int(number)


async def introduced(client: TelegramClient, app: App, status: Status) -> dict[str, Any]:
    """The bot's own account; while Telegram cannot be reached it is asked again. Raises `BotUnusable`."""
    tries = 0
    while True:
        try:
            return await client.me()
        except TokenRefused as refused:
            raise BotUnusable(
                "Telegram refuses its token", "Copy it again from @BotFather (/mybots, API Token)."
            ) from refused
        except BotApiError as failure:
            tries += 1
            status.troubled(State.WAITING, failure.reason)
            await app.backends.clock.sleep(min(2.0**tries, _LONGEST))


class Door:
    """One bot over an App. Within `opened` it receives; `bad_starts` above 0 makes it begin no turns by itself."""

    def __init__(self, app: App, client: TelegramClient, me: Me, status: Status, told: Told) -> None:
        self._app = app
        self._client = client
        self._status = status
        self._told = told
        self._notice = app.backends.observer.notice
        self._clock = app.backends.clock
        self._settings = app.settings.telegram
        self._paired = asyncio.Event()
        working = app.backends.working
        self._access = Access(app.backends.admissions, working, self._clock, app.settings, me.id)
        self._egress = Egress(client, app.backends.outbox, self._clock, self._surroundings())
        buttons = Buttons(working, client, self._access.is_admin)
        is_admin, quiet = self._access.is_admin, self._egress.typing_paused
        asker = TelegramAsker(client, buttons, working, is_admin, quiet, self._notice)
        self._asker = asker
        self._doubts = Doubts(self._egress, app.backends.journal, buttons, client, self._notice)
        desk = FrontDesk(status, self._egress)
        self._commands = TelegramCommands(app, client, buttons, asker, desk)
        handling = Handling(app.backends.inbox, self._clock, self._notice)
        staff = Staff(
            self._egress,
            asker,
            Files(client, lambda owner, chat: app.acting.outfit.context(owner, chat).workspace),
            handling,
            self._commands,
            Continuing(buttons, client, self._said_by_button),
        )
        self._turns = desk.turns = Turns(app, staff)
        AdminCommands(self._access, self._turns, me).add_to(self._commands)
        self._me = Me(me.id, me.username, self._commands.names)
        self._channel = f"{CHANNEL}:{me.id}"
        self._dispatch = Dispatch(
            app,
            self._me,
            self._access,
            client,
            self._egress,
            handling,
            self._turns,
            self._commands,
            buttons,
            asker,
            Pairing(self._access, client, self._egress, self._arrived),
        )
        self._intake = Intake(app.backends.inbox, self._channel, self._dispatch.accept)

    def _surroundings(self) -> Surroundings:
        async def closed(address: Address, reason: str) -> None:
            name = self._access.called(address)
            where = f"{name} ({address.name})" if name else address.name
            self._notice(Notice("Telegram", f"nothing can be said in {where} any more: {reason}"))

        async def doubted(reply: Outgoing) -> None:
            await self._doubts.tell(reply)

        return Surroundings(
            self._notice, lambda: self._access.admin, self._access.called, self._access.moved, closed, doubted
        )

    async def run(self, stop: asyncio.Event, bad_starts: int = 0) -> None:
        """Receive and answer until `stop` is set; then let what is under way end.

        After `bad_starts` no turn is begun until the admin says so. Raises `BotUnusable` when Telegram refuses the
        token, `SettingsError` when the settings contradict the bot, and `BackendUnavailable`.
        """
        await self._access.load()
        with carrying_on(self._notice, "Until the admin writes, they are told things in English"):
            await self._access.load_language()
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._egress)
            stack.callback(self._app.acting.askers.attach(self._asker))
            await self._asker.expire_left()
            if bad_starts:
                await self._begin_safely(bad_starts)
            await self._intake.left()
            receiving = await stack.enter_async_context(self._receiving())
            tasks = [
                receiving,
                self._supervised("the pairing code", self._show_codes),
                self._supervised("the menu", self._publish_menu),
            ]
            stopping = asyncio.create_task(stop.wait())
            self._told.running(self._me)
            try:
                await asyncio.wait({receiving, stopping}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (*tasks, stopping):
                    task.cancel()
                ends = await asyncio.gather(*tasks, return_exceptions=True)
                self._status.state = State.STOPPED
                await self._close()
        refused = [one for one in ends if isinstance(one, TokenRefused)]
        if refused:
            raise BotUnusable("Telegram refuses its token by now", "Copy the new one from @BotFather.") from refused[0]

    async def _close(self) -> None:
        await self._dispatch.close(_CLOSING_SECONDS)
        await self._turns.close(self._settings.drain_seconds)
        await self._egress.drain(_CLOSING_SECONDS)

    async def _begin_safely(self, bad_starts: int) -> None:
        self._turns.hold()
        self._notice(Notice("Telegram", texts_for("")("door.safe_mode", n=bad_starts)))
        admin = self._access.admin
        if admin is not None:
            told = texts_for(admin.language)("door.safe_mode", n=bad_starts)
            await self._egress.say(admin.owner, admin.home, told)

    # Receiving

    @asynccontextmanager
    async def _receiving(self) -> AsyncIterator[asyncio.Task[None]]:
        """A task that receives, by polls or behind a webhook; it ends only when the token is refused."""
        if not self._settings.webhook_url:
            polling = Polling(
                self._client,
                self._intake,
                self._clock,
                self._status,
                wait=self._settings.poll_seconds,
                silence=self._settings.silence_seconds,
            )
            yield self._supervised("receiving", lambda: self._poll(polling))
            return
        from goat.interfaces.telegram.webhook import Webhook, listening

        url, secret = self._settings.webhook_url, self._app.settings.keys.telegram_webhook.get_secret_value()
        webhook = Webhook(self._intake, self._status, url, secret)
        async with listening(webhook, self._settings.webhook_host, self._settings.webhook_port):
            yield self._supervised("the webhook", lambda: self._keep_webhook(url, secret))

    async def _poll(self, polling: Polling) -> None:
        """Poll. A webhook that somebody set is taken away, without what waits behind it."""
        hook = await self._client.webhook()
        if hook.get("url"):
            self._notice(Notice("Telegram", "a webhook was set for this bot; it is taken away, nothing is lost"))
            await self._client.delete_webhook()
        await polling.run()

    async def _keep_webhook(self, url: str, secret: str) -> None:
        await self._client.set_webhook(url, secret, KINDS)
        self._status.polled()
        await asyncio.Event().wait()

    def _supervised(self, what: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Keep work going: whatever it raises but a refused token is told, and it begins anew after a pause."""

        async def keep() -> None:
            tries = 0
            while True:
                try:
                    return await work()
                except TokenRefused:
                    raise
                except Exception as fault:  # noqa: BLE001 - no fault of a part ends the whole
                    tries += 1
                    self._notice(Notice("Telegram", f"{what} met a fault ({type(fault).__name__}: {fault})"))
                    await self._clock.sleep(min(2.0**tries, _LONGEST))

        return asyncio.create_task(keep(), name=what)

    # People

    async def _show_codes(self) -> None:
        """Show a code until the admin is known, a new one when the old one has expired."""
        while self._access.admin is None:
            self._told.code(self._me, await self._access.pairing_code())
            expiry = asyncio.ensure_future(self._clock.sleep(CODE_LIFE.total_seconds()))
            paired = asyncio.ensure_future(self._paired.wait())
            try:
                await asyncio.wait({expiry, paired}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                expiry.cancel()
                paired.cancel()

    async def _arrived(self, entry: Admitted) -> None:
        self._told.arrived(entry)
        if entry.role is Role.ADMIN:
            self._paired.set()
            await self._publish_menu()

    async def _publish_menu(self) -> None:
        await publish(self._client, self._commands.menu, self._notice)
        admin = self._access.admin
        if admin is not None:
            chat = admin.home.chat
            await publish(self._client, lambda say: self._commands.menu(say, admin=True), self._notice, chat=chat)

    async def _said_by_button(self, address: Address, sender: Sender, text: str) -> None:
        """Let somebody say something in a place by a button: it is committed and handled like what is typed."""
        number = -int(self._clock.now().timestamp() * 1_000_000)
        topic = {} if address.topic is None else {"message_thread_id": address.topic, "is_topic_message": True}
        said = {
            "message_id": number,
            "date": int(self._clock.now().timestamp()),
            "chat": {
                "id": address.chat,
                "type": "private" if address.private else "supergroup",
                "is_forum": address.forum,
            },
            "from": {"id": sender.id, "is_bot": False, "first_name": sender.name, "language_code": sender.language},
            "text": text if address.private else f"@{self._me.username} {text}",
            **topic,
        }
        if not address.private:
            said["entities"] = [{"type": "mention", "offset": 0, "length": len(self._me.username) + 1}]
        await self._intake.take([{"update_id": number, "message": said}])
