"""Which calls may run: allow, ask, or deny, for each tool and owner.

Settings outrank what a tool says of itself. A question shows the call as it will run; the hash of the whole call is
kept with the answer, and a call whose question expired, or that nobody can be asked about, does not run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta

from goat.errors import BackendUnavailable
from goat.ports.edges import Approvals, Asker
from goat.ports.run import Clock
from goat.records.tools import Question, Verdict
from goat.tools.calls import Prepared
from goat.tools.tool import Permission, ToolContext, ToolDefinition

SHOWN_CHARS = 4000
"""A longer call is not asked about: a person could not see what would run."""

READ_OUTSIDE = "text from outside was read before, and may have asked for it"


@dataclass(frozen=True, slots=True)
class Rules:
    """Names of tools from the settings. `guests` are the tools that people other than the admin may use as well."""

    allow: Collection[str] = ()
    ask: Collection[str] = ()
    deny: Collection[str] = ()
    guests: Collection[str] = ()

    def permission(self, tool: ToolDefinition, admin: bool) -> Permission:
        """What holds for a tool; the strictest of several entries wins."""
        own: Permission = tool.permission
        if tool.name in self.deny:
            return "deny"
        if not admin and tool.name not in self.guests:
            own = tool.guests
        if own == "deny" and tool.name not in self.allow:
            return "deny"
        if tool.name in self.ask:
            return "ask"
        return "allow" if tool.name in self.allow and admin else own


class Askers:
    """The front doors that can ask; each turn finds the one that reaches its chat."""

    def __init__(self) -> None:
        self._askers: list[Asker] = []

    def attach(self, asker: Asker) -> Callable[[], None]:
        """Add a front door; what comes back takes it away again."""
        self._askers.append(asker)
        return lambda: self._askers.remove(asker)

    def find(self, owner: str, chat: str) -> Asker | None:
        """The newest one that reaches the chat."""
        return next((one for one in reversed(self._askers) if one.reaches(owner, chat)), None)


class Policy:
    """The gate of the tool loop."""

    def __init__(
        self,
        rules: Rules,
        approvals: Approvals,
        askers: Askers,
        clock: Clock,
        redact: Callable[[str], str],
        seconds: float = 300.0,
    ) -> None:
        self._rules = rules
        self._approvals = approvals
        self._askers = askers
        self._clock = clock
        self._redact = redact
        self._seconds = seconds

    def offered(self, tool: ToolDefinition, context: ToolContext) -> bool:
        """Whether the model is told of the tool at all."""
        return self._rules.permission(tool, context.admin) != "deny"

    async def settle(self, prepared: Prepared, context: ToolContext, outside: bool = False) -> Prepared:
        """The call as it may run, or refused with the reason. A person may be asked.

        `outside` says that this turn has read text from outside.
        """
        tool = prepared.tool
        if tool is None:
            return prepared
        permission = self._rules.permission(tool, context.admin)
        if permission == "deny":
            return prepared.refused(f"{tool.name} is not allowed here")
        risk = tool.risk(prepared.arguments) if tool.risk is not None else ""
        if tool.guarded and outside:
            risk = "; ".join(why for why in (risk, READ_OUTSIDE) if why)
        if permission == "allow" and not risk:
            return prepared
        try:
            once = permission == "ask_once" and not risk
            if once and await self._approvals.granted(context.owner, tool.name):
                return prepared
            return await self._asked(prepared, tool, context, risk, once)
        except BackendUnavailable as lost:
            return prepared.refused(f"nobody could be asked, so it was not run: {lost}")

    async def expire_left(self) -> list[Question]:
        """Close the questions that an earlier process left open: their calls are gone, and they say so."""
        left = await self._approvals.waiting()
        for question in left:
            await self._approvals.close(question.id, Verdict.EXPIRED, self._clock.now())
        return left

    async def _asked(
        self, prepared: Prepared, tool: ToolDefinition, context: ToolContext, risk: str, once: bool
    ) -> Prepared:
        asker = self._askers.find(context.owner, context.chat)
        if asker is None:
            return prepared.refused(
                f"{tool.name} needs the person's leave and nobody can be asked here; it was not run"
            )
        if len(whole := shown(prepared)) > SHOWN_CHARS:
            return prepared.refused(
                f"the call is too long to be shown to the person; use at most {SHOWN_CHARS} characters"
            )
        now = self._clock.now()
        question = await self._approvals.open(
            Question(
                id=0,
                owner=context.owner,
                chat=context.chat,
                tool=tool.name,
                shown=self._redact(whole),
                digest=prepared.digest,
                asked_at=now,
                expires_at=now + timedelta(seconds=self._seconds),
                reason=risk,
                once=once,
            )
        )
        verdict = await self._answer(asker, question)
        if verdict is Verdict.YES and prepared.digest == question.digest:
            return prepared
        why = "was not answered in time" if verdict is Verdict.EXPIRED else "was answered with no"
        return prepared.refused(f"the question whether {tool.name} may run {why}; it was not run, do not try it again")

    async def _answer(self, asker: Asker, question: Question) -> Verdict:
        """Ask, keep the verdict, and only then show it."""
        try:
            async with asyncio.timeout(self._seconds):
                verdict = Verdict.YES if await asker.ask(question) else Verdict.NO
        except TimeoutError:
            verdict = Verdict.EXPIRED
        except asyncio.CancelledError:
            await asyncio.shield(self._close(asker, question, Verdict.CANCELLED))
            raise
        except BackendUnavailable:
            await asyncio.shield(self._close(asker, question, Verdict.EXPIRED))
            raise
        if self._clock.now() > question.expires_at:
            verdict = Verdict.EXPIRED
        if not await self._approvals.close(question.id, verdict, self._clock.now()):
            verdict = Verdict.EXPIRED
        await asker.settled(question, verdict)
        return verdict

    async def _close(self, asker: Asker, question: Question, verdict: Verdict) -> None:
        """Close a question that nobody will answer any more."""
        await self._approvals.close(question.id, verdict, self._clock.now())
        await asker.settled(question, verdict)


def shown(prepared: Prepared) -> str:
    """The whole call as the person reads it: the tool, then each argument on a line of its own."""
    return "\n".join([prepared.call.name, *(f"  {name}: {value}" for name, value in prepared.arguments.items())])
