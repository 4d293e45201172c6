"""Commands in the conversation: what starts with one of these words is no message and is not archived."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from goat.app import App
from goat.errors import MessageRefused
from goat.interfaces import memory_text
from goat.memory.forget import Plan
from goat.records.turns import TurnResult

YES: Final = "yes"
NO: Final = frozenset({"no", "nein", "nu", "non", "cancel", "stop"})
COMMAND_WORD: Final = re.compile("/[a-z]+")
"""What looks like a command; a path such as /etc/hosts does not."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its usage, what it is for, and what it does with the words behind it."""

    usage: str
    about: str
    run: Callable[[str], Awaitable[str]]


class ChatCommands:
    """The commands of one owner in one conversation. `last` is the turn that `/why` explains."""

    def __init__(self, app: App, owner: str) -> None:
        self._app = app
        self._owner = owner
        self._zone = app.backends.clock.zone()
        self._plan: Plan | None = None
        self.last: TurnResult | None = None
        self.table = {
            "/facts": Command("/facts", "the facts about you, and what they were before", self._facts),
            "/topics": Command("/topics", "what we talked about", self._topics),
            "/digest": Command("/digest", "everything I know about you, at a glance", self._digest),
            "/why": Command("/why", "what was recalled for my last answer, with scores", self._why),
            "/forget": Command("/forget NUMBER or WORDS", "shows what would go; /forget yes does it", self._forget),
            "/undo": Command("/undo", "takes back the last change of a fact or of the identity", self._undo),
            "/help": Command("/help", "these commands", self._help),
        }

    async def answer(self, text: str) -> str | None:
        """What a command has to say; None for a text that is no command. Raises `BackendUnavailable`."""
        name, _, rest = text.strip().partition(" ")
        command = self.table.get(name.lower())
        if command is None:
            return f"There is no command {name}. /help shows all." if COMMAND_WORD.fullmatch(name) else None
        try:
            return await command.run(rest.strip())
        except MessageRefused as refusal:
            return str(refusal)

    async def _facts(self, _rest: str) -> str:
        return memory_text.facts(await self._app.overview.facts(self._owner), self._zone)

    async def _topics(self, _rest: str) -> str:
        return memory_text.topics(await self._app.overview.topics(self._owner), self._zone)

    async def _digest(self, _rest: str) -> str:
        return memory_text.digest(await self._app.overview.digest(self._owner), self._zone)

    async def _why(self, _rest: str) -> str:
        return memory_text.why(self.last, self._zone)

    async def _undo(self, _rest: str) -> str:
        return memory_text.undone(await self._app.undo.last(self._owner))

    async def _help(self, _rest: str) -> str:
        lines = [f"{command.usage}  {command.about}" for command in self.table.values()]
        return "\n".join([*lines, "/quit  leaves, and so does Ctrl-D"])

    async def _forget(self, rest: str) -> str:
        plan, self._plan = self._plan, None
        if rest.lower() == YES:
            return await self._forget_now(plan)
        if rest.lower() in NO:
            return "Nothing is forgotten."
        if not rest:
            return "What? Write /forget and the number of a message (see /why and `goat memory recent`) or its words."
        forgetter = self._app.forgetter
        plan = await (
            forgetter.by_ids(self._owner, [int(rest)]) if rest.isdecimal() else forgetter.by_text(self._owner, rest)
        )
        if not plan:
            return "Nothing in memory matches that."
        self._plan = plan
        return f"{memory_text.plan(plan, self._zone)}\n\nThis would be gone for good. Write /forget yes to do it."

    async def _forget_now(self, plan: Plan | None) -> str:
        if plan is None:
            return "First write /forget and what; then /forget yes."
        await self._app.settled()
        self.last = None
        return memory_text.forgot(await self._app.forgetter.forget(plan))
