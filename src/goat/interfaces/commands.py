"""Commands in the conversation: what starts with one of these words is no message and is not archived."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from goat.app import App
from goat.errors import MessageRefused
from goat.interfaces.memory_text import MemoryText, excerpt
from goat.interfaces.money import spent
from goat.interfaces.texts import ENGLISH, Texts, texts_for
from goat.memory.forget import Plan
from goat.records.turns import TurnResult
from goat.settings import fallbacks_of, provider_of

YES: Final = "yes"
NO: Final = frozenset({"no", "nein", "nu", "non", "cancel", "stop"})
DEFAULT: Final = "default"
"""What returns to the configured identity."""

USAGE_DAYS: Final = 30
COMMAND_WORD: Final = re.compile("/[a-z]+")
"""What looks like a command; a path such as /etc/hosts does not."""


@dataclass(slots=True)
class Talk:
    """What a conversation remembers between its commands: the turn that `/why` explains, and what `/forget` showed.

    With `buttons` the front door puts the yes below what `/forget` shows.
    """

    last: TurnResult | None = None
    plan: Plan | None = None
    buttons: bool = False


class ChatCommands:
    """The commands of one owner in one conversation, answered in the language of `say`. `name` is what the person is
    called, where the front door knows it.

    `table` maps each name, without its slash, to what it does with the words behind it. The catalogue holds under
    `usage` how a command is written where more than its name is needed, and under `about` what it is for.
    """

    def __init__(
        self,
        app: App,
        owner: str,
        chat: str,
        say: Texts | None = None,
        talk: Talk | None = None,
        name: str = "",
    ) -> None:
        self._app = app
        self._owner = owner
        self._name = name
        self._chat = chat
        self._say = say or texts_for(ENGLISH)
        self._words = MemoryText(self._say, app.backends.clock.zone())
        self.talk = talk or Talk()
        self.table: dict[str, Callable[[str], Awaitable[str]]] = {
            "new": self._new,
            "memory": self._memory,
            "facts": self._facts,
            "topics": self._topics,
            "why": self._why,
            "forget": self._forget,
            "undo": self._undo,
            "identity": self._identity,
            "model": self._model,
            "usage": self._usage,
            "help": self._help,
        }

    async def answer(self, text: str) -> str | None:
        """What a command has to say; None for a text that is no command. Raises `BackendUnavailable`."""
        name, _, rest = text.strip().partition(" ")
        if not name.startswith("/"):
            return None
        if name[1:].lower() in self.table:
            return await self.run(name[1:].lower(), rest)
        return self._say("commands.unknown", name=name) if COMMAND_WORD.fullmatch(name) else None

    async def run(self, name: str, rest: str) -> str:
        """What the command of the table with this name has to say. Raises `BackendUnavailable`."""
        try:
            return await self.table[name](rest.strip())
        except MessageRefused as refusal:
            return self._say.told(str(refusal))

    async def _new(self, _rest: str) -> str:
        await self._app.memory.begin_anew(self._owner, self._chat)
        self.talk.last = self.talk.plan = None
        return self._say("commands.new")

    async def _facts(self, _rest: str) -> str:
        return self._words.facts(await self._app.overview.facts(self._owner))

    async def _topics(self, _rest: str) -> str:
        return self._words.topics(await self._app.overview.topics(self._owner))

    async def _memory(self, _rest: str) -> str:
        return self._words.digest(await self._app.overview.digest(self._owner), self._name)

    async def _why(self, _rest: str) -> str:
        return self._words.why(self.talk.last)

    async def _undo(self, _rest: str) -> str:
        return self._words.undone(await self._app.undo.last(self._owner))

    async def _identity(self, rest: str) -> str:
        identity = self._app.identity
        if not rest:
            return self._say("commands.identity", text=await identity.read(self._owner))
        text = "" if rest.lower() == DEFAULT else rest
        await identity.set(self._owner, text, self._app.backends.clock.now())
        return self._say("commands.identity_set", text=excerpt(await identity.read(self._owner), 400))

    async def _model(self, _rest: str) -> str:
        settings = self._app.settings
        endpoint = provider_of(settings)
        if endpoint is None:
            return self._say("commands.no_model")
        behind = ", ".join(one.title for one in fallbacks_of(settings)) or self._say("memory.nothing")
        return self._say("commands.model", model=endpoint.title, fallbacks=behind)

    async def _usage(self, _rest: str) -> str:
        clock = self._app.backends.clock
        today = clock.now().astimezone(clock.zone()).date()
        rows = await self._app.backends.usage.days(today - timedelta(days=USAGE_DAYS - 1), today, self._owner)
        if not rows:
            return self._say("commands.no_usage", days=USAGE_DAYS)
        models = sorted({f"{row.provider}/{row.model}" for row in rows})
        lines = [self._say("commands.usage_today", spent=spent(self._say, [row for row in rows if row.day == today]))]
        lines.append(self._say("commands.usage_days", days=USAGE_DAYS, spent=spent(self._say, rows)))
        if len(models) > 1:
            of = {name: [row for row in rows if f"{row.provider}/{row.model}" == name] for name in models}
            lines += [f"  {name}: {spent(self._say, used)}" for name, used in of.items()]
        return "\n".join(lines)

    async def _help(self, _rest: str) -> str:
        return "\n".join([*help_lines(self._say, self.table), self._say("commands.quit")])

    async def _forget(self, rest: str) -> str:
        plan, self.talk.plan = self.talk.plan, None
        if rest.lower() == YES:
            return await self._forget_now(plan)
        if rest.lower() in NO:
            return self._say("commands.forget_nothing")
        if not rest:
            return self._say("commands.forget_what")
        forgetter = self._app.forgetter
        plan = await (
            forgetter.by_ids(self._owner, [int(rest)]) if rest.isdecimal() else forgetter.by_text(self._owner, rest)
        )
        if not plan:
            return self._say("commands.forget_no_match")
        self.talk.plan = plan
        sure = self._say("commands.forget_sure" if self.talk.buttons else "commands.forget_sure_yes")
        return f"{self._words.plan(plan)}\n\n{sure}"

    async def _forget_now(self, plan: Plan | None) -> str:
        if plan is None:
            return self._say("commands.forget_first")
        await self._app.settled()
        self.talk.last = None
        return self._words.forgot(await self._app.forgetter.forget(plan))


def help_lines(say: Texts, names: Iterable[str]) -> list[str]:
    """A line for each command: how it is written and what it is for."""
    return [f"{usage(say, name)}  {say(f'about.{name}')}" for name in names]


def usage(say: Texts, name: str) -> str:
    """How a command is written."""
    return f"/{name} {say(f'usage.{name}')}" if say.has(f"usage.{name}") else f"/{name}"
