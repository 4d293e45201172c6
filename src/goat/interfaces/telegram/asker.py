"""Asks on Telegram whether a tool may act: a message with two buttons, which says in the end what became of it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any, Final, Protocol

from goat.errors import BackendUnavailable
from goat.interfaces.telegram.address import Address
from goat.interfaces.telegram.buttons import Buttons, Meaning
from goat.interfaces.telegram.carrying_on import carrying_on
from goat.interfaces.telegram.chunk import Chunk, Entity, units
from goat.interfaces.telegram.client import Button
from goat.interfaces.telegram.client import Buttons as Keyboard
from goat.interfaces.telegram.failures import BotApiError, NotSent, SlowDown
from goat.interfaces.telegram.message import Message, Sender, Tap
from goat.interfaces.telegram.render import plain
from goat.interfaces.texts import Texts, texts_for
from goat.ports.stores import WorkingStore
from goat.records.tools import Question, Verdict
from goat.records.turns import Notice

KIND: Final = "approval"
YES: Final = frozenset(
    {"yes", "y", "yes please", "yes do it", "ok", "okay", "ok do it", "do it", "go ahead", "sure", "👍"}
    | {"da", "da te rog", "da fă o", "da fa o", "bine", "sigur", "да", "sí", "oui", "ja"}
)
NO: Final = frozenset(
    {"no", "n", "no thanks", "don't", "dont", "nope", "👎", "nu", "nu mulțumesc", "нет", "non", "nein"}
)

_PROMPTS: Final = "telegram:prompts"
_OPEN_SECONDS: Final = 7 * 86400.0
_PART_UNITS: Final = 3500
_TRIES: Final = 5
_LOST: Final = "the question could not be put: {reason}"
_MARKS: Final = re.compile(r"[^\w\s👍👎]|_")


class Prompts(Protocol):
    """What is needed of the Bot API. Each raises `BotApiError`."""

    async def send_text(
        self, place: Address, text: str, entities: Sequence[Entity] = (), *, buttons: Keyboard = ()
    ) -> int:
        """Send a message and return its id."""
        ...

    async def edit_text(
        self, chat: int, message: int, text: str, entities: Sequence[Entity] = (), *, buttons: Keyboard = ()
    ) -> None:
        """Change a message and its buttons."""
        ...

    async def edit_buttons(self, chat: int, message: int, buttons: Keyboard = ()) -> None:
        """Change the buttons of a message, or take them away."""
        ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question as it stands in a chat, put to one `user`; 0 where the admin alone may answer.

    A `risky` one takes no typed yes.
    """

    chat: str
    message: int
    chunk: Chunk
    language: str
    user: int = 0
    risky: bool = False


class TelegramAsker:
    """The port `Asker` over a bot. `quiet` stops the sign of typing in a place while a question stands there.

    `notice` is told what could not be kept about the questions; none of it stops a call.
    """

    def __init__(
        self,
        prompts: Prompts,
        buttons: Buttons,
        working: WorkingStore,
        admin: Callable[[int], bool],
        quiet: Callable[[Address], AbstractContextManager[None]],
        notice: Callable[[Notice], None],
    ) -> None:
        self._prompts = prompts
        self._buttons = buttons
        self._working = working
        self._admin = admin
        self._quiet = quiet
        self._notice = notice
        self._turns: dict[str, Sender] = {}
        self._asked: dict[int, Question] = {}
        self._open: dict[int, list[Prompt]] = {}
        self._answers: dict[int, asyncio.Future[bool]] = {}
        buttons.on(KIND, self._pressed)

    @contextmanager
    def turn(self, address: Address, sender: Sender) -> Iterator[None]:
        """While a turn runs: the questions of its tools are this person's to answer."""
        self._turns[address.name] = sender
        try:
            yield
        finally:
            self._turns.pop(address.name, None)

    def reaches(self, owner: str, chat: str) -> bool:
        """Whether the chat is one of Telegram."""
        try:
            Address.parse(chat)
        except ValueError:
            return False
        return True

    async def ask(self, question: Question) -> bool:
        """Put the question into its chat and wait for the answer.

        Raises `BackendUnavailable` when it cannot be delivered.
        """
        address = Address.parse(question.chat)
        asked = self._turns.get(question.chat)
        user = asked.id if asked is not None else max(address.chat, 0)
        say = texts_for(asked.language if asked is not None else "")
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._answers[question.id] = answer
        self._asked[question.id] = question
        try:
            row = await self._row(question.id, question.chat, user, say)
            prompt = await self._put(question, address, say, user, row)
            self._open[question.id] = [prompt]
            await self._keep({_name(question.id, prompt): prompt})
            with self._quiet(address):
                return await answer
        finally:
            del self._answers[question.id]
            del self._asked[question.id]

    async def settled(self, question: Question, verdict: Verdict) -> None:
        """Let its messages say how it ended, without buttons."""
        for prompt in self._open.pop(question.id, []):
            await self._show_end(_name(question.id, prompt), prompt, f"approval.{verdict.value}")

    async def expire_left(self) -> None:
        """Let the questions of an earlier process say that they count no more: the calls went with it.

        Without the working store they say so when a button is pressed.
        """
        left = "Questions that the last restart closed may still show their buttons; a press says that they are closed"
        with carrying_on(self._notice, left):
            for name, prompt in (await self._kept()).items():
                await self._show_end(name, prompt, "approval.restarted")

    def waiting(self, address: Address, user: int) -> list[int]:
        """The numbers of the open questions of a place that a person may answer."""
        return [number for number, _ in self._answerable(address, user)]

    async def again(self, address: Address, user: int, say: Texts) -> int:
        """Put the open questions of a place that a person may answer once more, each in a message; how many they are.

        Raises `BackendUnavailable` before anything is sent.
        """
        questions = [(self._asked[number], prompts[0].user) for number, prompts in self._answerable(address, user)]
        rows = [await self._row(one.id, one.chat, put_to, say) for one, put_to in questions]
        for (question, put_to), row in zip(questions, rows, strict=True):
            with carrying_on(self._notice, f"Question {question.id} could not be put again in {address.name}"):
                copy = await self._put(question, address, say, put_to, row)
                await self._keep({_name(question.id, copy): copy})
                if question.id in self._open:
                    self._open[question.id].append(copy)
                else:  # it ended while this was sent
                    await self._show_end(_name(question.id, copy), copy, "approval.over")
        return len(questions)

    def typed(self, message: Message) -> str | None:
        """Take a typed yes or no for the answer to a question; what is to be said about it, or None for other words.

        It counts where it answers the question's message, or where one question alone is open, and only as the
        person's own words with nothing beside them. A yes to a call that carries a risk is given by the button only.
        """
        if message.outside or message.attachments or message.extras or message.edited:
            return None
        word = " ".join(_MARKS.sub(" ", message.text.replace("'", "")).casefold().split())
        if word not in YES and word not in NO:
            return None
        open_ones = self._answerable(message.address, message.sender.id)
        if message.reply_to is not None:
            open_ones = [
                (number, prompts)
                for number, prompts in open_ones
                if any(one.message == message.reply_to for one in prompts)
            ]
        if not open_ones:
            return None
        say = texts_for(message.sender.language)
        if len(open_ones) > 1:
            return say("approval.which")
        ((number, prompts),) = open_ones
        if word in YES and prompts[0].risky:
            return say("approval.press")
        self._resolve(number, word in YES)
        return ""

    async def _pressed(self, tap: Tap, meaning: Meaning) -> str:
        number, _, verdict = meaning.value.partition(":")
        if self._resolve(int(number), verdict == Verdict.YES.value):
            return ""
        if tap.address is not None and tap.message_id is not None:
            with suppress(BotApiError):  # it is told in any case
                await self._prompts.edit_buttons(tap.address.chat, tap.message_id)
        return texts_for(tap.sender.language)("approval.over")

    def _resolve(self, number: int, yes: bool) -> bool:
        """Answer a question; False where nobody waits for the answer any more."""
        answer = self._answers.get(number)
        if answer is None or answer.done():
            return False
        answer.set_result(yes)
        return True

    def _answerable(self, address: Address, user: int) -> list[tuple[int, list[Prompt]]]:
        return [
            (number, prompts)
            for number, prompts in self._open.items()
            if prompts[0].chat == address.name and (prompts[0].user == user or self._admin(user))
            if number in self._answers and not self._answers[number].done()
        ]

    async def _put(
        self, question: Question, address: Address, say: Texts, user: int, row: tuple[Button, ...]
    ) -> Prompt:
        """Send the question; a call too long for one message comes in several, the last with the buttons."""
        notes = [say("approval.note", reason=say.told(question.reason))] if question.reason else []
        notes += [say("approval.covers", tool=question.tool)] if question.once else []
        head, foot = say("approval.may_this_run"), "\n".join(notes)
        parts = plain(question.shown, _PART_UNITS)
        for part in parts[:-1]:
            await self._send(address, _framed("", part, ""))
        last = _framed(head, parts[-1], foot)
        number = await self._send(address, last, [row])
        return Prompt(question.chat, number, last, say.language, user, bool(question.reason))

    async def _row(self, number: int, chat: str, user: int, say: Texts) -> tuple[Button, ...]:
        yes = Meaning(KIND, f"{number}:{Verdict.YES.value}", chat, user)
        no = Meaning(KIND, f"{number}:{Verdict.NO.value}", chat, user)
        return (
            await self._buttons.make(say("approval.button_yes"), yes),
            await self._buttons.make(say("approval.button_no"), no),
        )

    async def _send(self, address: Address, chunk: Chunk, buttons: Keyboard = ()) -> int:
        for left in reversed(range(_TRIES)):
            try:
                return await self._prompts.send_text(address, chunk.text, chunk.entities, buttons=buttons)
            except NotSent as failure:
                if not left:
                    raise BackendUnavailable("Asker", "telegram", _LOST.format(reason=failure.reason)) from failure
                await asyncio.sleep(failure.seconds if isinstance(failure, SlowDown) else 1.0)
            except BotApiError as failure:
                raise BackendUnavailable("Asker", "telegram", _LOST.format(reason=failure.reason)) from failure
        raise AssertionError("unreachable")

    async def _show_end(self, name: str, prompt: Prompt, key: str) -> None:
        """The message is a help, not the record: that it cannot be changed any more stops nothing."""
        ending = texts_for(prompt.language)(key)
        with suppress(BotApiError):
            chat, text = Address.parse(prompt.chat).chat, f"{prompt.chunk.text}\n\n{ending}"
            await self._prompts.edit_text(chat, prompt.message, text, prompt.chunk.entities)
        number = name.partition(":")[0]
        with carrying_on(self._notice, f"The end of question {number} is not kept; the next start shows it as expired"):
            await self._keep({name: None})

    async def _kept(self) -> dict[str, Prompt]:
        """The prompts that stand in chats, by their names."""
        stored = await self._working.get(_PROMPTS)
        return {name: _prompt(fields) for name, fields in json.loads(stored.body).items()} if stored else {}

    async def _keep(self, changes: Mapping[str, Prompt | None]) -> None:
        """Write down which prompts stand in chats, so that a later process can end them."""
        while True:
            stored = await self._working.get(_PROMPTS)
            kept = json.loads(stored.body) if stored else {}
            kept |= {name: asdict(prompt) for name, prompt in changes.items() if prompt is not None}
            left = {name: one for name, one in kept.items() if changes.get(name, one) is not None}
            version = stored.version if stored else 0
            if await self._working.put(_PROMPTS, json.dumps(left, ensure_ascii=False), _OPEN_SECONDS, version):
                return


def _name(number: int, prompt: Prompt) -> str:
    """What one message of a question is kept under."""
    return f"{number}:{prompt.message}"


def _framed(head: str, part: Chunk, foot: str) -> Chunk:
    """A part of a call as code, with a line above and one below."""
    before = f"{head}\n\n" if head else ""
    text = before + part.text + (f"\n\n{foot}" if foot else "")
    code = Entity("pre", units(before), units(part.text))
    return Chunk(text, (Entity("bold", 0, units(head)), code) if head else (code,))


def _prompt(fields: dict[str, Any]) -> Prompt:
    """A prompt as it was kept."""
    chunk = fields.pop("chunk")
    return Prompt(chunk=Chunk(chunk["text"], tuple(Entity(**one) for one in chunk["entities"])), **fields)
