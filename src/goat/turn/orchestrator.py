"""The turn: from a message to a committed reply."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TypeVar
from uuid import uuid4

from goat.errors import MessageRefused, ModelError, in_seconds
from goat.failpoints import reach
from goat.memory.enrich import entities_in
from goat.memory.enriching import Enriching
from goat.memory.facade import MemoryLayers, PromptLayers, Received
from goat.memory.l2_thread import Bands, Verdict, advance, classify, is_fresh
from goat.ports.run import Clock, Observer
from goat.records.episodes import Episode, Incoming, Role
from goat.records.memory import Activation, ThreadState
from goat.records.models import ModelRequest, Reply
from goat.records.search import Floats, Lost, Recalled, Where
from goat.records.tools import ToolProgress
from goat.records.turns import TurnRecord, TurnResult
from goat.retrieval.echo import beyond
from goat.retrieval.query import Query, sought
from goat.settings import Settings
from goat.tools.limits import LoopOutcome
from goat.tools.loop import ToolLoop
from goat.turn.budget import Aits, Budget
from goat.turn.deadline import Deadline
from goat.turn.joining import Joining, More
from goat.turn.lanes import Lanes
from goat.turn.prefetch import Prefetch, Prefetched
from goat.turn.prompt import Material, Prompt, PromptBuilder
from goat.turn.reflex import Reflex

T = TypeVar("T")
OnText = Callable[[str], None]
OnTool = Callable[[ToolProgress], None]
OnAnswer = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Served:
    """The recalled episodes of a turn, for which query they were found, and where they came from."""

    results: tuple[Recalled, ...]
    query: str
    source: str
    lost: tuple[Lost, ...] = ()


@dataclass(frozen=True, slots=True)
class _Door:
    """Where a turn shows itself, and what joins it on the way."""

    on_text: OnText | None
    on_tool: OnTool | None
    on_answer: OnAnswer | None
    joining: Joining


@dataclass(slots=True)
class _Watch:
    """Times the stages of a turn in milliseconds."""

    began: float = field(default_factory=perf_counter)
    stage_ms: dict[str, float] = field(default_factory=dict)

    async def stage(self, name: str, work: Awaitable[T]) -> T:
        began = perf_counter()
        try:
            return await work
        finally:
            self.stage_ms[name] = round((perf_counter() - began) * 1000, 3)

    def total_ms(self) -> float:
        return round((perf_counter() - self.began) * 1000, 3)


class Orchestrator:
    """Handles one message at a time per chat; other chats go on beside it."""

    def __init__(
        self,
        settings: Settings,
        memory: MemoryLayers,
        bands: Bands,
        reflex: Reflex,
        prefetch: Prefetch,
        enriching: Enriching,
        prompts: PromptBuilder,
        loop: ToolLoop,
        lanes: Lanes,
        clock: Clock,
        observer: Observer,
    ) -> None:
        self._settings = settings
        self._memory = memory
        self._bands = bands
        self._reflex = reflex
        self._prefetch = prefetch
        self._enriching = enriching
        self._prompts = prompts
        self._loop = loop
        self._lanes = lanes
        self._clock = clock
        self._observer = observer
        self._aits = Aits(settings.aits)

    async def run(
        self,
        incoming: Incoming,
        on_text: OnText | None = None,
        on_tool: OnTool | None = None,
        more: More | None = None,
        on_answer: OnAnswer | None = None,
    ) -> TurnResult:
        """Archive the message, answer it and archive the reply.

        `on_text` gets the reply in pieces as it comes, `on_tool` each tool call as it begins and ends. `more` is asked
        before each call of the model for messages that came meanwhile: those that it gives are answered by this turn.
        `on_answer` is called when the reply is committed; what follows in the turn no longer changes it.

        Raises `MessageRefused` for an empty message, `BackendUnavailable` when the journal cannot be written and
        `ModelError` when the model gives no answer; in the last case the message is kept.
        """
        if not incoming.text.strip():
            raise MessageRefused("The message is empty. Write something to remember or to ask.")
        watch = _Watch()
        received = await watch.stage("receive", self._memory.receive(incoming))
        async with self._lanes.turn(incoming.owner, incoming.chat):
            if received.duplicate and (answered := await self._answered(received)):
                return answered
            joining = Joining(self._memory, received, more)
            return await self._turn(received, watch, _Door(on_text, on_tool, on_answer, joining))

    async def _answered(self, received: Received) -> TurnResult | None:
        """The result of a message that was delivered before and answered then."""
        question = received.episode
        partners = await self._memory.exchange(question)
        answers = [episode for episode in partners if episode.role is Role.ASSISTANT]
        if not answers:
            return None
        return TurnResult(answers[-1].text, question, answers[-1], (), None, received.altered)

    async def _turn(self, received: Received, watch: _Watch, door: _Door) -> TurnResult:
        question = received.episode
        owner, chat = question.owner, question.chat
        thread, vector = await watch.stage("activate", self._activate(question))
        verdict = classify(thread, sought(question.text), self._bands.place(vector), self._bands, lambda: uuid4().hex)
        reach("classified")
        query = self._query(question, vector, verdict, thread)
        layers, served = await asyncio.gather(
            watch.stage("layers", self._memory.prompt_layers(owner, chat, question.id)),
            watch.stage("recall", self._serve(query, verdict, thread)),
        )
        budget = self._aits.budget(question.text)
        prompt = await watch.stage("assemble", self._assemble(question, query, layers, served, budget))
        outcome = await watch.stage("model", self._call(received, prompt, served, door))
        reply = outcome.reply
        answer = await watch.stage("commit", self._commit(received, verdict, reply, door))
        after = await watch.stage(
            "follow", self._follow((question, *door.joining.episodes), answer, verdict, vector, outcome.evidence)
        )
        await watch.stage("enrich", self._enriching.settle(owner, chat))
        self._memory.recalled(owner, prompt.shown)
        self._prefetch.start(Prefetched(query, question.id, verdict.state, verdict.resumed is not None))
        lost = (*layers.lost, *served.lost, *after)
        record = self._record(question, verdict, served, budget, prompt, outcome, lost, watch)
        self._observer.turn(record)
        return TurnResult(
            reply.text, question, answer, prompt.shown, record, received.altered, reply.notes, outcome.unfinished
        )

    async def _activate(self, question: Episode) -> tuple[Activation, Floats | None]:
        thread, vector = await asyncio.gather(
            self._memory.thread(question.owner, question.chat), self._memory.embed(question.text)
        )
        return thread.value, vector.value

    def _query(self, question: Episode, vector: Floats | None, verdict: Verdict, thread: Activation) -> Query:
        named = entities_in(question.meta)  # found when the message was written
        query = self._memory.query(question.owner, question.text, question.at, vector, named)
        return replace(
            query,
            chat=question.chat,
            topic_id=verdict.topic_id,
            where=Where(up_to=question.id),
            held=tuple(one.episode_id for one in thread.held),
        )

    async def _serve(self, query: Query, verdict: Verdict, thread: Activation) -> Served:
        """The held list where it can serve this message, a reflex where it cannot, or a time or key is named."""
        mode = self._settings.recall.reflex
        now = self._clock.now()
        fresh = is_fresh(thread, now, self._settings.activation.held_fresh_seconds)
        warm = verdict.state is ThreadState.WARM and fresh and not query.windows and not query.keys
        if mode == "never" or (mode == "auto" and warm):
            return await self._held(query, thread)
        found = await self._reflex.search(query)
        if found.results or not found.lost:
            return Served(found.results, query.text, "reflex", found.lost)
        held = await self._held(query, thread)
        return Served(held.results, held.query, held.source, (*found.lost, *held.lost))

    async def _held(self, query: Query, thread: Activation) -> Served:
        held = await self._memory.held(query.owner, thread.held, self._clock.now())
        lost = (held.lost,) if held.lost else ()
        return Served(tuple(held.value), thread.held_query, "held" if held.value else "nothing", lost)

    async def _assemble(
        self, question: Episode, query: Query, layers: PromptLayers, served: Served, budget: Budget
    ) -> Prompt:
        just_said = {message.episode_id for message in layers.history[-2:]}  # the newest exchange is always shown
        recalled = [result for result in served.results if result.episode.id not in just_said]
        partners, excerpts = await asyncio.gather(
            self._memory.partners(query.owner, recalled),
            self._memory.excerpts(query.owner, self._prompts.long(recalled)),
        )
        material = Material(
            text=query.text,
            identity=layers.identity,
            facts=layers.facts,
            history=layers.history,
            recalled=recalled,
            partners=partners,
            recalled_for=served.query,
            now=self._clock.now(),
            zone=self._clock.zone(),
            windows=query.windows,
            speaker=question.speaker,
            excerpts=excerpts,
        )
        return self._prompts.build(material, budget.tokens)

    async def _call(self, received: Received, prompt: Prompt, served: Served, door: _Door) -> LoopOutcome:
        reach("model_call")
        question = received.episode
        seconds = self._settings.turn.timeout_seconds
        request = ModelRequest(
            messages=prompt.messages,
            question=question.text,
            recalled=beyond(question.text, served.results),
            chat=question.chat,
            owner=question.owner,
            exchange_id=question.exchange_id,
            history=prompt.history,
            outside=received.outside,
            language=received.language,
        )
        try:
            async with Deadline.within(seconds) as deadline:
                return await self._loop.run(
                    request, door.on_text, door.on_tool, door.joining.take, pause=deadline.paused
                )
        except TimeoutError as late:
            remedy = "The message is kept; ask again, or raise [turn] timeout_seconds."
            raise ModelError("chosen", f"the turn took longer than {in_seconds(seconds)}", remedy) from late

    async def _commit(self, received: Received, verdict: Verdict, reply: Reply, door: _Door) -> Episode:
        reach("before_reply")
        now = self._clock.now()
        appended = await self._memory.answer(received, verdict.topic_id, reply, now, door.on_answer)
        reach("reply_committed")
        return appended.episode

    async def _follow(
        self, asked: Sequence[Episode], answer: Episode, verdict: Verdict, vector: Floats | None, evidence: str
    ) -> tuple[Lost, ...]:
        """Bring L2 and the thread after the committed reply; both are rebuilt from the journal where they are lost."""
        one = self._settings.activation
        question = asked[0]

        def rule(thread: Activation) -> Activation:
            return advance(
                thread,
                verdict,
                sought(question.text),
                self._bands.place(vector),
                self._clock.now(),
                one.lexical_window,
                one.topic_archive_max,
            )

        history, thread = await asyncio.gather(
            self._memory.remember_exchange(asked, answer, evidence),
            self._memory.change_thread(question.owner, question.chat, rule),
        )
        reach("followers_written")
        return tuple(found.lost for found in (history, thread) if found.lost)

    def _record(
        self,
        question: Episode,
        verdict: Verdict,
        served: Served,
        budget: Budget,
        prompt: Prompt,
        outcome: LoopOutcome,
        lost: tuple[Lost, ...],
        watch: _Watch,
    ) -> TurnRecord:
        reply = outcome.reply
        sent = self._prompts.with_tools(prompt, outcome.offered)
        return TurnRecord(
            at=question.at,
            owner=question.owner,
            chat=question.chat,
            state=verdict.state,
            served_by=served.source,
            confidence=budget.confidence,
            complexity=budget.complexity,
            budget_tokens=budget.tokens,
            prompt_tokens=sent.tokens,
            layer_tokens=sent.layer_tokens,
            results_found=len(served.results),
            results_used=len(prompt.shown),
            stage_ms=watch.stage_ms,
            total_ms=watch.total_ms(),
            model=reply.model,
            lost=tuple(one.what for one in lost),
            cut_by_deadline=any("deadline" in one.reason for one in lost),
            late=tuple(one.what for one in lost if "deadline" in one.reason),
            usage=reply.usage,
            failed_calls=reply.failed_calls,
            model_calls=outcome.calls,
            tool_calls=len(outcome.uses),
        )
