"""The server as a test holds it in its hands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Final, Self

from goat.adapters.clock_system import SystemClock
from goat.ports.run import Clock
from goat.testing.bot_api.endpoint import Call, Endpoint
from goat.testing.bot_api.faults import Fault, Planned
from goat.testing.bot_api.host import Host
from goat.testing.bot_api.messages import Chat, Json, User
from goat.testing.bot_api.people import Person
from goat.testing.bot_api.screen import Screen, draw
from goat.testing.bot_api.updates import Update, UpdateQueue
from goat.testing.bot_api.webhook import push_updates
from goat.testing.bot_api.world import World

TOKEN: Final = "4242:a-token-that-opens-nothing"


class FakeBotApi:
    """A Bot API for one bot. It listens between `async with` and its end; what happened can be read afterwards too.

    `token` is the one that opens it and carries the bot's id. `clock` gives the dates of messages and decides what has
    expired. `privacy` hides from the bot what is said in groups without calling it. `limited` turns on the rates of
    sending, one message a second in a chat and twenty a minute in a group.
    """

    def __init__(
        self,
        token: str = TOKEN,
        *,
        username: str = "goat_bot",
        clock: Clock | None = None,
        first_update_id: int = 1001,
        privacy: bool = False,
        limited: bool = False,
    ) -> None:
        clock = clock or SystemClock("UTC")
        bot = User(int(token.partition(":")[0]), "GOAT", username, is_bot=True)
        self.world = World(clock, bot, UpdateQueue(first_update_id, clock.now), privacy, limited)
        self._endpoint = Endpoint(self.world, token)
        self._host = Host(self._endpoint.app)
        self._pusher: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self._host.start()
        self._pusher = asyncio.create_task(push_updates(self.world), name="webhook")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pusher is not None:
            self._pusher.cancel()
            with suppress(asyncio.CancelledError):
                await self._pusher
        await self._stop()
        if self._endpoint.bugs and error is None:
            raise ExceptionGroup("the fake Bot API itself failed", self._endpoint.bugs)

    async def _stop(self) -> None:
        self.world.ended.set()
        await self._host.stop()
        self.world.ended = asyncio.Event()

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self._host.port}"

    @property
    def base_url(self) -> str:
        """What the token and the method follow."""
        return f"{self.url}/bot"

    @property
    def base_file_url(self) -> str:
        """What the token and the path of a file follow."""
        return f"{self.url}/file/bot"

    @property
    def token(self) -> str:
        """The token that opens it now."""
        return self._endpoint.token

    @property
    def bot(self) -> User:
        """The bot's own account."""
        return self.world.bot

    # People and chats

    def person(
        self, name: str = "Ana", *, username: str | None = None, language: str | None = "en", is_bot: bool = False
    ) -> Person:
        """Somebody new, who has not opened the bot yet; perhaps another bot."""
        user = User(700_000 + self.world.number("user"), name, username, language, is_bot)
        self.world.users[user.id] = user
        chat = Chat(user.id, "private", name, username, members={user.id: user}, bot_standing="unknown")
        self.world.chats[chat.id] = chat
        return Person(self.world, user, chat)

    def group(
        self, title: str = "Group", *members: Person, supergroup: bool = True, username: str | None = None
    ) -> Chat:
        """A group that the bot is a member of."""
        number = self.world.number("chat")
        chat = Chat(
            -1_000_000_000_000 - number if supergroup else -5000 - number,
            "supergroup" if supergroup else "group",
            title,
            username,
            members={one.id: one.user for one in members},
            last_message_id=1,  # the one that says that the group was made
        )
        self.world.chats[chat.id] = chat
        return chat

    def forum(self, title: str, *members: Person, topics: tuple[str, ...] = ()) -> Chat:
        """A group with topics beside the one that is called General; see `topic`."""
        chat = self.group(title, *members)
        chat.is_forum = True
        for name in topics:
            self.open_topic(chat, name)
        return chat

    def open_topic(self, chat: Chat, name: str) -> int:
        """A new topic and its thread id; in a private chat as well."""
        chat.last_message_id += 1
        chat.topics[chat.last_message_id] = name
        return chat.last_message_id

    def topic(self, chat: Chat, name: str) -> int:
        """The thread id of a topic. Raises `LookupError` for one that is not there."""
        found = [number for number, title in chat.topics.items() if title == name]
        if not found:
            raise LookupError(f"no topic {name!r}; there are {list(chat.topics.values())}")
        return found[0]

    def channel(self, title: str, username: str | None = None) -> Chat:
        """A channel that the bot is a member of."""
        chat = Chat(-1_002_000_000_000 - self.world.number("chat"), "channel", title, username)
        self.world.chats[chat.id] = chat
        return chat

    def migrate(self, group: Chat) -> Chat:
        """Make a basic group a supergroup: a new chat with a new id; the old one is closed."""
        new = self.group(group.title)
        new.members = dict(group.members)
        sender = next(iter(group.members.values()), self.bot)
        self.world.deliver(self.world.post(group, sender, extra={"migrate_to_chat_id": new.id}))
        self.world.deliver(self.world.post(new, sender, extra={"migrate_from_chat_id": group.id}))
        group.moved_to = new.id
        return new

    def inject(self, update: Json, update_id: int | None = None) -> int | None:
        """Queue an update of any form; with an id perhaps one that came before."""
        return self.world.push(update, update_id)

    def revoke_token(self) -> None:
        """From now on every call is answered with 401."""
        self._endpoint.token = f"{self.bot.id}:revoked-{self.world.number('token')}"

    # Faults

    def fails(
        self, method: str, fault: Fault, *, calls: int | None = 1, skip: int = 0, chat: Chat | None = None
    ) -> None:
        """Let the next `calls` calls of a method go wrong (None: all), after `skip` good ones, or in one chat alone.

        The method `download` is the fetching of a file, `*` is every method.
        """
        self._endpoint.faults.add(Planned(method, fault, skip, calls, chat.id if chat else None))

    def mend(self) -> None:
        """Drop all planned faults."""
        self._endpoint.faults.clear()

    @asynccontextmanager
    async def down(self) -> AsyncIterator[None]:
        """Be unreachable inside the block: connections break, new ones are refused."""
        await self._stop()
        try:
            yield
        finally:
            await self._host.start()

    # What happened

    @property
    def calls(self) -> list[Call]:
        """Every call so far, in the order of arrival."""
        return self._endpoint.calls

    def calls_of(self, method: str) -> list[Call]:
        """The calls of one method."""
        return [call for call in self.calls if call.method == method]

    @property
    def waiting(self) -> tuple[Update, ...]:
        """The updates that are not confirmed."""
        return self.world.updates.waiting

    def screen(self, chat: Chat | Person, topic: int | None = None) -> Screen:
        """What stands in a chat now, or in the place that a person has open."""
        if isinstance(chat, Person):
            topic = chat.topic if topic is None else topic
            chat = chat.chat
        return draw(self.world, chat, topic)

    async def until(self, condition: Callable[[], bool], timeout: float = 30.0) -> None:
        """Wait until something becomes true that depends on calls and chats. Raises `TimeoutError`."""
        try:
            async with asyncio.timeout(timeout):
                while not condition():
                    await self.world.changed.wait()
        except TimeoutError:
            last = [f"{call.method} {call.status} {call.error}".strip() for call in self.calls[-10:]]
            raise TimeoutError(f"It did not come true in {timeout} s. The last calls: {last}") from None

    async def answers(self, place: Chat | Person, count: int = 1, timeout: float = 30.0) -> list[str]:
        """Wait until the bot has at least `count` messages in a chat and give their texts."""
        await self.until(lambda: len(self.screen(place).answers) >= count, timeout)
        return self.screen(place).answers
