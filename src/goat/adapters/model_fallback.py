"""One ChatModel out of several: what fails is tried again, then asked of the next model.

What is done after a failure, by its kind:

    busy                      again after what the endpoint asks for, up to twice; beyond a minute the next model, and
                              this one is left alone until then
    down                      again, up to twice, with growing pauses; then the next model
    cut                       again once; then the next model
    empty                     again once, with a nudge; then the next model
    too long                  again once, without the older conversation; then the next model
    filtered, overtime        the end: another try would say the same, or nobody waits any longer
    everything else           the next model

A reply is of one model alone. Once a piece of an answer was shown and that answer breaks off, no piece of another is
shown: the next answer comes whole, as the text of the reply. If there is none, what was shown is the reply, with a
note.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Final

from goat.errors import ModelError, ModelFault
from goat.ports.models import ChatModel
from goat.ports.run import Clock
from goat.records.models import ChatMessage, ModelRequest, Reply
from goat.records.usage import Usage

TRIES: Final = {
    ModelFault.BUSY: 3,
    ModelFault.DOWN: 3,
    ModelFault.CUT: 2,
    ModelFault.EMPTY: 2,
    ModelFault.TOO_LONG: 2,
}
"""How often a model is asked at most when it fails in this way; once, if nothing stands here."""

ENDS: Final = {ModelFault.FILTERED, ModelFault.OVERTIME}

FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 8.0
LONGEST_WAIT: Final = 60.0
"""Seconds that a model may ask to be waited for."""

NUDGE: Final = ChatMessage("user", "(Your last answer was empty. Answer the message above now, in plain words.)")

ANEW: Final = "The first answer broke off; this is a new one."
SHORTENED: Final = "The conversation was too long for {model}, so its older part was left out of this answer."
BROKEN_OFF: Final = "The answer breaks off here: {problem}. Ask for the rest."


class FallbackModel:
    """Asks its models in their order until one answers; the first one gives it its name.

    `jitter` gives numbers from 0 to 1, which spread the retries of many programs over time.
    """

    def __init__(self, models: Sequence[ChatModel], clock: Clock, jitter: Callable[[], float] = random.random) -> None:
        self._models = tuple(models)
        self._clock = clock
        self._jitter = jitter
        self._left_alone: dict[int, float] = {}

    @property
    def name(self) -> str:
        """The name of the first model."""
        return self._models[0].name

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        """The first answer that is to be had. Raises `ModelError` naming every model that was asked, and why."""
        so_far = _SoFar(on_text)
        for place in self._ready():
            try:
                reply = await self._asked(place, request, so_far)
            except ModelError as failure:
                so_far.failures.append(failure)
                if failure.fault in ENDS:
                    break
            else:
                return so_far.completed(reply)
        return so_far.broken_off()

    def _ready(self) -> list[int]:
        """The places of the models that need not be left alone; of all, if each asked for it."""
        now = self._clock.monotonic()
        everyone = list(range(len(self._models)))
        return [place for place in everyone if self._left_alone.get(place, now) <= now] or everyone

    async def _asked(self, place: int, request: ModelRequest, so_far: _SoFar) -> Reply:
        """The model's reply, after as many tries as the kinds of its failures allow."""
        model, asked, patience = self._models[place], request, LONGEST_WAIT
        for tries in count(1):
            try:
                reply = await model.reply(asked, so_far.sink())
            except ModelError as failure:
                so_far.failed(failure)
                amended = _amended(request, failure.fault)
                pause = self._pause(failure, tries)
                if pause > LONGEST_WAIT:
                    self._left_alone[place] = self._clock.monotonic() + pause
                if amended is None or tries >= TRIES.get(failure.fault, 1) or pause > patience:
                    raise _counted(failure, tries) from failure
                asked, patience = amended, patience - pause
                await self._clock.sleep(pause)
            else:
                shortened = len(asked.messages) < len(request.messages)
                note = (SHORTENED.format(model=model.name),) if shortened else ()
                return replace(reply, notes=(*note, *reply.notes))
        raise AssertionError("the tries of every kind of failure are limited")

    def _pause(self, failure: ModelError, tries: int) -> float:
        """Seconds until the next try: never less than the endpoint asks for, and spread."""
        if failure.fault not in {ModelFault.BUSY, ModelFault.DOWN}:
            return 0.0
        growing: float = min(FIRST_PAUSE * 2 ** (tries - 1), LONGEST_PAUSE)
        return (failure.retry_after or 0.0) + growing * (0.5 + self._jitter() / 2)


class _SoFar:
    """What has happened on the way to one reply."""

    def __init__(self, on_text: Callable[[str], None] | None) -> None:
        self._on_text = on_text
        self._shown = ""
        self._usage = Usage()
        self._failed_calls = 0
        self.failures: list[ModelError] = []
        """The last failure of each model that was given up."""

    def sink(self) -> Callable[[str], None] | None:
        """Where the next answer's pieces go: nowhere once some of an earlier one were shown."""
        if self._on_text is None:
            return None
        return _nowhere if self._shown else self._show

    def _show(self, piece: str) -> None:
        self._shown += piece
        if self._on_text is not None:
            self._on_text(piece)

    def failed(self, failure: ModelError) -> None:
        """Count a call in vain."""
        self._failed_calls += 1
        self._usage += failure.usage

    def completed(self, reply: Reply) -> Reply:
        """The reply with all that led to it."""
        notes = list(reply.notes)
        if self.failures:
            told = "; ".join(f"{failure.model}: {failure.problem}" for failure in self.failures)
            notes.insert(0, f"{reply.model or 'Another model'} answers, because another could not ({told}).")
        if self._failed_calls and self._shown and not reply.text.startswith(self._shown):
            notes.insert(0, ANEW)
        usage = self._usage + reply.usage
        return replace(reply, notes=tuple(notes), usage=usage, failed_calls=self._failed_calls)

    def broken_off(self) -> Reply:
        """The part that was shown, as the reply. Raises `ModelError` when nothing was."""
        last = self.failures[-1]
        if not self._shown.strip():
            raise self._together() from last
        first = self.failures[0]
        note = BROKEN_OFF.format(problem=first.in_own_words(first.problem))
        return Reply(self._shown, (), first.model, self._usage, "cut", notes=(note,), failed_calls=self._failed_calls)

    def _together(self) -> ModelError:
        first, *others = self.failures
        problem = "; ".join([first.problem, *(f"{other.model}: {other.problem}" for other in others)])
        return ModelError(
            first.model,
            problem,
            first.remedy,
            first.fault,
            retry_after=first.retry_after,
            usage=self._usage,
            quoted=[words for failure in self.failures for words in failure.quoted],
        )


def _nowhere(_: str) -> None:
    """Take a piece that is not to be shown."""


def _counted(failure: ModelError, tries: int) -> ModelError:
    """The failure, with the number of tries if there was more than one."""
    problem = f"{failure.problem}, {tries} times" if tries > 1 else failure.problem
    return ModelError(
        failure.model,
        problem,
        failure.remedy,
        failure.fault,
        retry_after=failure.retry_after,
        quoted=failure.quoted,
    )


def _amended(request: ModelRequest, fault: ModelFault) -> ModelRequest | None:
    """What is asked the next time; None when there is nothing to leave out."""
    if fault is ModelFault.EMPTY:
        return replace(request, messages=(*request.messages, NUDGE))
    return _without_history(request) if fault is ModelFault.TOO_LONG else request


def _without_history(request: ModelRequest) -> ModelRequest | None:
    """The request without the conversation so far; None when there is none."""
    if not request.history:
        return None
    return replace(request, messages=(*request.messages[:1], *request.messages[1 + request.history :]), history=0)
