"""The memory tools: what the model may do with memory, as typed functions with structured results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any, Final, Literal
from uuid import uuid4

from goat.errors import ToolError
from goat.memory.enriching import Enriching, Written
from goat.memory.facade import MemoryLayers
from goat.memory.forget import Forgetter, Plan
from goat.memory.l0_identity import Identity
from goat.memory.l1_facts import Facts, Kept
from goat.memory.provenance import OUTSIDE, STORED, Origin, grounds, is_outside
from goat.ports.run import Clock
from goat.ports.stores import Journal
from goat.records.episodes import Episode, NewEpisode, Role
from goat.records.search import Recalled, Where
from goat.retrieval.clean import clean
from goat.retrieval.copies import said_again
from goat.retrieval.passages import split_passages
from goat.tools.tool import ToolContext, ToolDefinition, tool

LOOKED_BACK: Final = 20
"""Messages of the chat in which the person's words for a fact are looked for."""


NOTES: Final = "notes"
"""The chat of an owner's notes: they are found by searches, and never shown as if they were said in a conversation."""


@dataclass(frozen=True, slots=True)
class Found:
    """A remembered message. `at` is local time; `from_outside` marks words of a web page, a file or somebody else, and
    `again` tells how often the same was said besides."""

    number: int
    at: str
    who: str
    chat: str
    text: str
    relevance: float
    from_outside: bool = False
    again: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool did, in one sentence, with its figures."""

    ok: bool
    message: str
    found: tuple[Found, ...] = ()
    facts: tuple[str, ...] = ()
    tokens_used: int | None = None
    tokens_cap: int | None = None
    lost: tuple[str, ...] = field(default=())


class MemoryTools:
    """The tools of `definitions`. The context says for whom; no argument of a model can."""

    def __init__(
        self,
        memory: MemoryLayers,
        journal: Journal,
        facts: Facts,
        identity: Identity,
        forgetter: Forgetter,
        enriching: Enriching,
        clock: Clock,
        embedder: str,
    ) -> None:
        self._memory = memory
        self._journal = journal
        self._facts = facts
        self._identity = identity
        self._forgetter = forgetter
        self._enriching = enriching
        self._clock = clock
        self._embedder = embedder
        self._plans: dict[tuple[str, str], tuple[int, Plan]] = {}
        self._definitions: Sequence[ToolDefinition] = ()

    def definitions(self) -> Sequence[ToolDefinition]:
        """All of them, for a toolbox. Guests may use them: memory is each owner's own."""
        self._definitions = self._definitions or self._defined()  # to make them takes ten milliseconds
        return self._definitions

    def _defined(self) -> list[ToolDefinition]:
        reading: list[Callable[..., Any]] = [self.search_memory, self.read_l1, self.memory_status]
        writing: list[Callable[..., Any]] = [
            self.store_memory,
            self.promote_memory,
            self.set_identity,
            self.forget_fact,
            self.forget_memory,
        ]
        guarded = [self.set_identity, self.forget_fact, self.forget_memory]
        return [
            *(tool(guests="allow")(method) for method in reading),
            *(tool(guests="allow", parallel=False, guarded=method in guarded)(method) for method in writing),
        ]

    async def search_memory(
        self, context: ToolContext, query: str, chat: str = "", after: str = "", before: str = "", limit: int = 5
    ) -> Answer:
        """Search everything that was ever said in all chats of this person, by meaning and by words.

        What was found for the newest message stands in the prompt already: search for what is not there,
        or to read a long message whole.

        Args:
            query: What to look for, in the words in which it may have been said.
            chat: Only what was said in this chat, named as in a result; empty for all.
            after: Only what was said at or after this time, ISO 8601; local time unless it names a zone.
            before: Only what was said before this time, ISO 8601; local time unless it names a zone.
            limit: How many results, at most 20.
        """
        zone = self._clock.zone()
        waiting = {one.id for one in await self._waiting(context)}
        where = Where(
            chat=chat.strip() or None, after=_moment("after", after, zone), before=_moment("before", before, zone)
        )
        wanted = max(1, min(limit, 20))
        recall = await self._memory.search(context.owner, query, self._clock.now(), wanted + len(waiting), where)
        shown = [one for one in recall.results if one.episode.id not in waiting][:wanted]
        self._memory.recalled(context.owner, shown)
        found = tuple(_found(one, zone) for one in shown)
        lost = tuple(f"{one.what}: {one.reason}" for one in recall.lost)
        return Answer(True, f"{len(found)} found." if found else "No relevant memories.", found, lost=lost)

    async def store_memory(
        self,
        context: ToolContext,
        content: str,
        tags: Sequence[str] = (),
        origin: Literal["assistant", "outside"] = "assistant",
        url: str = "",
    ) -> Answer:
        """Keep a note in the archive, so that later searches find it. What the person says is kept by itself.

        Args:
            content: The note.
            tags: Words to file it under.
            origin: "outside" for what comes from a web page, a file or another tool; "assistant" for a note of yours.
            url: Where it comes from.
        """
        text = clean(content)[0].strip()
        if not text:
            raise ToolError("store_memory", "the note is empty; write what is to be kept")
        outside = Origin(origin) is Origin.OUTSIDE
        at = self._clock.now()
        noted = await self._memory.noted(text, at)
        meta = {**noted.meta, "provenance": origin, **({"url": clean(url)[0]} if url else {})}
        note = NewEpisode(
            owner=context.owner,
            chat=NOTES,
            role=Role.ASSISTANT,
            text=text,
            at=at,
            exchange_id=uuid4().hex,
            speaker="text from outside" if outside else "note",
            tags=(STORED, *((OUTSIDE,) if outside else ()), *(clean(tag)[0] for tag in tags)),
            source="tool",
            passages=split_passages(text),
            meta=meta,
            to_enrich=not noted.complete,
        )
        (kept,) = await self._memory.archive.append([note])
        self._memory.archive.follow_meaning()
        self._enriching.note(context.owner, context.chat, Written(text, kept.episode.id))
        return Answer(True, f"Kept as note {kept.episode.id}.")

    async def promote_memory(self, context: ToolContext, key: str, value: str, another: bool = False) -> Answer:
        """Keep a fact that the person told, so that it stands in every prompt. An older value stays in the history.

        Args:
            key: What it is, short, such as "city" or "sister's name"; use the key that is there to change a fact.
            value: What holds now, in the person's own language and words.
            another: Say yes only after a refusal because a key looks alike, when it is truly another one.
        """
        said = await self._journal.recent(context.owner, context.chat, LOOKED_BACK)
        ground = grounds(value, said)
        if ground.episode is None:
            return await self._with_usage(context.owner, False, f"Not kept: {ground.reason}")
        kept = await self._facts.promote(context.owner, key, value, ground.episode.id, another=another)
        if kept.outcome is Kept.REFUSED:
            return Answer(False, f"Not kept: {kept.reason}", tokens_used=kept.used, tokens_cap=kept.cap)
        was = f" It was: {kept.before}." if kept.outcome is Kept.CHANGED else ""
        told = f"{kept.key}: {kept.value} ({kept.outcome}).{was}"
        return Answer(True, told, tokens_used=kept.used, tokens_cap=kept.cap)

    async def set_identity(self, context: ToolContext, identity_prompt: str) -> Answer:
        """Change who you are for this person, when they ask for it in this message. It counts from the next turn on.

        Args:
            identity_prompt: The whole text of the identity; an empty one returns to the configured identity.
        """
        question = await self._question(context)
        if question is None or is_outside(question):
            raise ToolError("set_identity", "the person has not asked for it in a message of their own")
        await self._identity.set(context.owner, identity_prompt, self._clock.now())
        length = len(identity_prompt.strip())
        return Answer(True, f"Set, {length} characters; it counts from the next turn on." if length else "Reset.")

    async def read_l1(self, context: ToolContext, key: str = "") -> Answer:
        """Read the facts that are kept, or with a key everything that this fact has been, oldest first.

        Args:
            key: The fact whose history is asked for; empty for all facts that hold now.
        """
        if key:
            history = await self._facts.history(context.owner, key)
            lines = tuple(
                f"{fact.key}: {fact.value} ({self._local(fact.since)} to {self._local(fact.until) or 'now'})"
                for fact in history
            )
            return Answer(
                bool(lines), f"{len(lines)} values." if lines else f"There never was a fact {key!r}.", (), lines
            )
        facts = await self._facts.read(context.owner)
        lines = tuple(f"{fact.key}: {fact.value}" for fact in facts)
        used, cap = self._facts.used(facts), self._facts.cap
        return Answer(True, f"{len(lines)} facts." if lines else "No facts yet.", (), lines, used, cap)

    async def forget_fact(self, context: ToolContext, key: str) -> Answer:
        """End a fact that holds no more. It stays in the history; forget_memory erases for good.

        Args:
            key: The key of the fact.
        """
        dropped = await self._facts.drop(context.owner, key)
        if dropped is None:
            keys = tuple(fact.key for fact in await self._facts.read(context.owner))
            told = f"There is no fact {key!r}. Use one of the keys that are there, letter by letter, or none."
            return Answer(False, told, facts=keys)
        return await self._with_usage(context.owner, True, f"{dropped.key} holds no more. It was: {dropped.value}")

    async def memory_status(self, context: ToolContext) -> Answer:
        """Say how much is remembered, layer by layer."""
        counts = await self._journal.counts(context.owner, self._embedder)
        told = (
            f"{counts.episodes} messages in {counts.chats} chats, {counts.passages} searchable passages, "
            f"{counts.embedded} of them by meaning."
        )
        return await self._with_usage(context.owner, True, told)

    async def forget_memory(
        self, context: ToolContext, number: int = 0, words: str = "", confirm: bool = False
    ) -> Answer:
        """Forget for good, in two steps: first it shows what would go; after the person agreed in their next message,
        call it with confirm.

        Args:
            number: The number of a message.
            words: Words; every message, fact and identity text that holds them would go.
            confirm: True when the person has seen the list and agreed.
        """
        place = (context.owner, context.chat)
        question = await self._question(context)
        now = question.id if question else 0
        if confirm:
            shown_at, plan = self._plans.pop(place, (now, Plan(context.owner)))
            if not plan or shown_at >= now:
                raise ToolError("forget_memory", "show the list first and let the person agree in their next message")
            done = await self._forgetter.forget(plan)
            return Answer(True, f"Forgotten for good: {done.episodes} messages, {done.values} values.")
        if number:
            plan = await self._forgetter.by_ids(context.owner, [number], before=now or None)
        else:
            plan = await self._forgetter.by_text(context.owner, words, before=now or None)
        if not plan:
            return Answer(False, "Nothing matches.")
        self._plans[place] = (now, plan)
        zone = self._clock.zone()
        found = tuple(_found(Recalled(episode, 1.0, 1.0), zone) for episode in plan.episodes)
        facts = tuple(f"{fact.key}: {fact.value}" for fact in plan.values.facts)
        return Answer(True, "This would go. Show it and ask; then call again with confirm.", found, facts)

    async def _with_usage(self, owner: str, ok: bool, told: str) -> Answer:
        return Answer(ok, told, tokens_used=self._facts.used(await self._facts.read(owner)), tokens_cap=self._facts.cap)

    async def _question(self, context: ToolContext) -> Episode | None:
        """The person's newest message, as long as it has no answer: the one that this turn answers."""
        waiting = await self._waiting(context)
        return waiting[-1] if waiting else None

    async def _waiting(self, context: ToolContext) -> list[Episode]:
        """The person's newest messages that have no answer yet, oldest first."""
        newest = await self._journal.recent(context.owner, context.chat, LOOKED_BACK)
        answered = {one.exchange_id for one in newest if one.role is Role.ASSISTANT}
        return [one for one in newest if one.role is Role.USER and one.exchange_id not in answered]

    def _local(self, at: datetime | None) -> str:
        return "" if at is None else f"{at.astimezone(self._clock.zone()):%Y-%m-%d %H:%M}"


def _moment(name: str, text: str, zone: tzinfo) -> datetime | None:
    """A time as the model writes it; without a zone it is the owner's. Raises `ToolError`."""
    if not text.strip():
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as wrong:
        raise ToolError("search_memory", f"{name} must be an ISO 8601 time such as 2026-03-02T09:00") from wrong
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def _found(result: Recalled, zone: tzinfo) -> Found:
    episode = result.episode
    return Found(
        number=episode.id,
        at=f"{episode.at.astimezone(zone):%Y-%m-%d %H:%M}",
        who=episode.speaker or ("the person" if episode.role is Role.USER else "you"),
        chat=episode.chat,
        text=episode.text,
        relevance=round(result.relevance, 3),
        from_outside=is_outside(episode),
        again=said_again(result, zone),
    )
