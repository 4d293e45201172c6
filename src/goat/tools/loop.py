"""The one loop in which the model is called and acts. Every effect goes through Steps.

A round is one call of the model and the batch of tool calls that it asks for. After the last round, or when the turn's
room for tool output is used up, the model answers once without tools.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import groupby
from time import perf_counter
from typing import Protocol

from goat.ports.models import ChatModel
from goat.ports.run import Steps
from goat.records.models import ModelRequest, Reply, ToolCall
from goat.records.tools import ToolProgress
from goat.tools.calls import Prepared, prepare, with_ids
from goat.tools.evidence import without_copied_evidence
from goat.tools.invoke import Done, invoke
from goat.tools.limits import Equipment, Limits, LoopOutcome
from goat.tools.redact import Redactor
from goat.tools.rounds import Rounds
from goat.tools.text_calls import CallFilter
from goat.tools.tool import ToolContext

LAST_WORD = "No further tools can be used in this turn. Answer now, in words, from what is known so far."
UNREADABLE = (
    "Your message contained a tool call that could not be read, so nothing was run. Use the tool interface, with the "
    "arguments as one JSON object, or answer in words."
)


More = Callable[[], Awaitable[Sequence[str]]]
Pause = Callable[[], AbstractContextManager[None]]
REPEATED = (
    "This is word for word your answer before it. Answer the newest message of the person; only if that answer is the "
    "right one here too, give it again."
)


class Gate(Protocol):
    """Decides which calls may run."""

    async def settle(self, prepared: Prepared, context: ToolContext, outside: bool) -> Prepared:
        """The call as it may run, or refused with the reason; `outside` says that the turn has read foreign text.

        A person may be asked.
        """
        ...


def unequipped(_: ModelRequest) -> Equipment | None:
    """No tools for anybody."""
    return None


class ToolLoop:
    """Calls the model until it has answered, and runs what it asks for on the way.

    `equip` gives the tools of a turn, once at its start. `redact` takes secrets out of what the model and the person
    read.
    """

    def __init__(
        self,
        model: ChatModel,
        steps: Steps,
        equip: Callable[[ModelRequest], Equipment | None] = unequipped,
        gate: Gate | None = None,
        limits: Limits | None = None,
        redact: Callable[[str], str] | None = None,
    ) -> None:
        self._model = model
        self._steps = steps
        self._equip = equip
        self._gate = gate
        self._limits = limits or Limits()
        self._redact = redact or Redactor()

    async def run(
        self,
        request: ModelRequest,
        on_text: Callable[[str], None] | None = None,
        on_tool: Callable[[ToolProgress], None] | None = None,
        more: More | None = None,
        pause: Pause = nullcontext,
    ) -> LoopOutcome:
        """The model's answer; `on_text` gets it in pieces, `on_tool` each call as it begins and ends.

        `more` is asked before every call of the model for what the person has added. `pause` is entered while the gate
        decides, which may wait for a person. Raises `ModelError`.
        """
        rounds = Rounds(self._limits, self._equip(request), request, on_text, on_tool)
        while True:
            if more is not None:
                for text in await self._steps.run(f"hear:{rounds.round}", more):
                    rounds.say("user", text)
            reply, calls = await self._ask(rounds, request)
            if not calls and not rounds.correction:
                return rounds.outcome(reply)
            if calls:
                await self._act(rounds, reply, calls, pause)
            else:
                rounds.say("assistant", reply.text or "(a tool call that could not be read)")
                rounds.say("user", rounds.correction)
            rounds.round += 1

    async def _ask(self, rounds: Rounds, request: ModelRequest) -> tuple[Reply, list[ToolCall]]:
        """One call of the model: what it says to the person, and what it wants done."""
        seen = CallFilter(rounds.toolbox.names)
        last = rounds.last
        if last and rounds.round and rounds.toolbox:
            rounds.say("user", LAST_WORD)
        asked = replace(request, messages=tuple(rounds.messages), tools=() if last else rounds.toolbox.specs)
        listen = rounds.stream(seen)
        reply = await self._steps.run(f"model:{rounds.round}", lambda: self._model.reply(asked, listen))
        if reply.quotes_only:
            rounds.heard(reply, reply.text)
            return reply, []
        found = seen.finish(reply.text)
        text = without_copied_evidence(found.text)
        calls = [] if last else with_ids([*reply.tool_calls, *found.calls], rounds.round)
        if not calls and rounds.echoes(reply, text):
            rounds.correction = REPEATED
        else:
            rounds.heard(reply, text)
            rounds.correction = UNREADABLE if found.broken and not last else ""
        return replace(reply, text=text, tool_calls=()), calls

    async def _act(self, rounds: Rounds, reply: Reply, calls: Sequence[ToolCall], pause: Pause) -> None:
        """Run a batch: first every question, in order; then the effects, in order, side by side where allowed."""
        cut = reply.finish_reason == "length"
        batch: list[Prepared] = []
        for place, call in enumerate(calls):
            prepared = rounds.repetition.check(prepare(call, rounds.toolbox, cut))
            if place >= self._limits.batch_calls:
                prepared = prepared.refused(f"only {self._limits.batch_calls} calls fit into one batch")
            with pause():
                batch.append(await self._settle(rounds, prepared))
        results: list[tuple[Done, float]] = []
        for _, group in groupby(enumerate(batch), key=_side_by_side):
            effects = [self._effect(rounds, one) for _, one in group]
            results += await self._steps.run_all(f"tools:{rounds.round}", effects)
        rounds.add_batch(reply, batch, results, self._redact)

    async def _settle(self, rounds: Rounds, prepared: Prepared) -> Prepared:
        gate, context = self._gate, rounds.context
        if prepared.refusal or gate is None or context is None:
            return prepared
        foreign = prepared.tool is not None and prepared.tool.foreign
        outside = rounds.outside or (rounds.described_outside and not foreign)
        return await self._steps.run(f"ask:{rounds.round}", lambda: gate.settle(prepared, context, outside))

    def _effect(self, rounds: Rounds, one: Prepared) -> Callable[[], Awaitable[tuple[Done, float]]]:
        return lambda: self._run_one(rounds, one)

    async def _run_one(self, rounds: Rounds, one: Prepared) -> tuple[Done, float]:
        """The result of a call and the seconds that it took."""
        if one.refusal or one.tool is None or rounds.context is None:
            return Done(f"error: {one.refusal}", False), 0.0
        shown = self._redact(one.call.arguments)
        rounds.tell(ToolProgress(one.tool.name, shown))
        began = perf_counter()
        done = await invoke(one.tool, one.arguments, rounds.context, self._limits.tool_seconds)
        seconds = perf_counter() - began
        rounds.tell(ToolProgress(one.tool.name, shown, seconds, done.ok))
        return done, seconds


def _side_by_side(item: tuple[int, Prepared]) -> int:
    """One key for neighbours that may run at the same time, a key of its own for every other call."""
    place, one = item
    return -1 if one.refusal or one.tool is None or one.tool.parallel else place
