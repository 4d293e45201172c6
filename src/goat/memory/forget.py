"""Forgetting: first what would go, then all of it, from every store and every file.

What goes is gone from the journal in one transaction. Indexes, working store and files follow; a process that is
killed in between finishes that at its next start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from goat.errors import MessageRefused
from goat.failpoints import reach
from goat.memory.archive import Archive
from goat.memory.keys import activation_key, working_key
from goat.memory.l1_facts import Facts
from goat.memory.layer import layer
from goat.ports.stores import Forgetting, Journal, PermanentStore, Transfer, WorkingStore
from goat.records.episodes import Episode
from goat.records.memory import PermanentHistory
from goat.records.search import Lost
from goat.retrieval.fold import fold

PAGE: Final = 512
"""Messages that are read at once while the archive is looked through."""

LEAST_QUOTED: Final = 12
"""Characters from which on a message that holds another one whole counts as quoting it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be forgotten: the messages that were meant, others that quote one of them whole, and the facts and
    identity texts that came from them or hold the same words."""

    owner: str
    meant: tuple[Episode, ...] = ()
    quoting: tuple[Episode, ...] = ()
    values: PermanentHistory = field(default_factory=PermanentHistory)

    @property
    def episodes(self) -> tuple[Episode, ...]:
        """All messages that would go, oldest first."""
        return tuple(sorted((*self.meant, *self.quoting), key=lambda episode: episode.id))

    def __bool__(self) -> bool:
        return bool(self.meant or self.quoting or self.values.facts or self.values.identities)

    def without_values(self) -> Plan:
        """The same without facts and identity texts."""
        return replace(self, values=PermanentHistory())


@dataclass(frozen=True, slots=True)
class Forgot:
    """How many messages and values went. `unfinished` says what is left for the next start, and why; `put_aside` where
    copies from before a restore stand, which are left as they are."""

    episodes: int
    values: int
    unfinished: Lost | None = None
    put_aside: tuple[str, ...] = ()


class Forgetter:
    """Finds what a person wants forgotten, and forgets it."""

    def __init__(
        self,
        forgetting: Forgetting,
        journal: Journal,
        transfer: Transfer,
        permanent: PermanentStore,
        working: WorkingStore,
        archive: Archive,
        facts: Facts,
    ) -> None:
        self._forgetting = forgetting
        self._journal = journal
        self._transfer = transfer
        self._permanent = permanent
        self._working = working
        self._archive = archive
        self._facts = facts

    async def by_ids(self, owner: str, ids: Sequence[int], before: int | None = None) -> Plan:
        """What goes with these messages; ids that are not the owner's are left out.

        `before` leaves messages from that id on as they are. Raises `BackendUnavailable`.
        """
        meant = await self._journal.episodes(owner, list(dict.fromkeys(ids)))
        if not meant:
            return Plan(owner)
        wanted = [plain(episode.text) for episode in meant]
        quoted = [text for text in wanted if len(text) >= LEAST_QUOTED]
        own = {episode.id for episode in meant}

        def quotes(text: str) -> bool:
            return any(holds(text, one) for one in quoted)

        quoting = [e for e in await self._matching(owner, quotes, before) if e.id not in own] if quoted else []
        return Plan(owner, tuple(meant), tuple(quoting), await self._values(owner, quotes, own))

    async def by_text(self, owner: str, text: str, before: int | None = None) -> Plan:
        """Every message, fact and identity text that holds these words in this order, whatever their case and accents.

        Raises `MessageRefused` for a text without a letter or digit, and `BackendUnavailable`.
        """
        wanted = plain(text)
        if not any(character.isalnum() for character in wanted):
            raise MessageRefused("There is no word in what is to be forgotten. Write a word of it, or its number.")

        def meant(text: str) -> bool:
            return holds(text, wanted)

        found = await self._matching(owner, meant, before)
        return Plan(owner, tuple(found), (), await self._values(owner, meant, {episode.id for episode in found}))

    async def forget(self, plan: Plan) -> Forgot:
        """Forget what a plan holds. Raises `BackendUnavailable` when the journal could not forget it."""
        values = await self._permanent.erase(plan.owner, plan.values) if plan.values != PermanentHistory() else 0
        self._facts.forget_cached(plan.owner)
        gone = await self._forgetting.forget(plan.owner, [episode.id for episode in plan.episodes])
        finished = await layer("what follows the journal", self.finish(), None)
        return Forgot(len(gone), values, finished.lost, tuple(await self._forgetting.put_aside()))

    async def finish(self) -> None:
        """Take what was forgotten out of indexes, conversations, threads and files. Raises `BackendUnavailable`."""
        waiting = await self._forgetting.unfinished()
        if not waiting:
            return
        for owner in sorted({one.owner for one in waiting}):
            await self._clear_working(owner)
        reach("forgotten_in_working_store")
        await self._archive.let_go([(one.owner, ord_) for one in waiting for ord_ in one.ords])
        reach("forgotten_in_indexes")
        await self._forgetting.finish(waiting)

    async def _clear_working(self, owner: str) -> None:
        """Of every chat, since what was said in one may have been quoted, searched or held in another. Conversations
        are rebuilt from the journal, threads begin anew."""
        for chat in await self._forgetting.chats(owner):
            await self._working.delete(working_key(owner, chat))
            await self._working.delete(activation_key(owner, chat))

    async def _matching(self, owner: str, wanted: Callable[[str], bool], before: int | None) -> list[Episode]:
        found: list[Episode] = []
        last = 0
        while page := await self._transfer.scan(owner, last, PAGE):
            last = page[-1].episode_id
            found += [
                change.episode
                for change in page
                if change.episode and (before is None or change.episode_id < before) and wanted(change.episode.text)
            ]
        return found

    async def _values(self, owner: str, wanted: Callable[[str], bool], sources: set[int]) -> PermanentHistory:
        held = await self._permanent.everything(owner)
        return PermanentHistory(
            tuple(f for f in held.facts if f.source_episode in sources or wanted(f"{f.key}: {f.value}")),
            tuple(text for text in held.identities if wanted(text.text)),
        )


def plain(text: str) -> str:
    """A text as it is compared: folded, without the marks of a quotation, its white space one blank each."""
    return " ".join(fold(" ".join(line.lstrip("> ") for line in text.splitlines())).split())


def holds(text: str, wanted: str) -> bool:
    """Whether a text holds a `plain` one, not merely as a part of a longer word."""
    inside = plain(text)
    at = inside.find(wanted)
    while at >= 0:
        after = at + len(wanted)
        if not (_joined(inside[at - 1 : at], wanted[0]) or _joined(wanted[-1], inside[after : after + 1])):
            return True
        at = inside.find(wanted, at + 1)
    return False


def _joined(left: str, right: str) -> bool:
    """Whether two letters or digits that stand side by side belong to one word, in a script that parts its words."""
    return _of_word(left) and _of_word(right)


def _of_word(character: str) -> bool:
    return character.isdigit() or character.upper() != character.lower()
