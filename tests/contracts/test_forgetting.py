"""The contract of the port Forgetting, over every adapter."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from goat.ports.edges import Outbox
from goat.ports.stores import Embeddings, Forgetting, Journal, PermanentStore
from goat.records.episodes import ArchiveCounts, Episode, NewEpisode, NewOutgoing, Role, Span
from goat.records.memory import Fact, IdentityText, PermanentHistory
from goat.records.search import VectorRow

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
NOTHING = ArchiveCounts(0, 0, 0, 0)


def said(text: str = "hello", owner: str = "ana", chat: str = "home", **more: Any) -> NewEpisode:
    fields = {"role": Role.USER, "at": NOON, "exchange_id": "x1", "passages": (Span(0, 1), Span(1, 2)), **more}
    return NewEpisode(owner=owner, chat=chat, text=text, **fields)


async def append(journal: Journal, *new: NewEpisode) -> list[Episode]:
    return [appended.episode for appended in await journal.append(new)]


async def test_what_is_forgotten_is_found_in_no_way(
    journal: Journal, forgetting: Forgetting, embeddings: Embeddings, outbox: Outbox
) -> None:
    [episode] = await append(journal, said("a secret", uid="u1", key="k1"))
    await journal.append([said("its answer", role=Role.ASSISTANT)], [NewOutgoing("ana", "home", "bot", "its answer")])
    vector = np.array([0.6, 0.8], np.float32)
    await embeddings.put("e5", [VectorRow("ana", n, 1, "home", NOON, vector) for n in range(4)], 2)
    await forgetting.forget("ana", [episode.id, episode.id + 1])
    assert await journal.episodes("ana", [episode.id, episode.id + 1]) == []
    assert await journal.recent("ana", "home", 5) == []
    assert await journal.exchange("ana", ["x1"]) == []
    assert await journal.locate("ana", [0, 1, 2, 3]) == {}
    assert await journal.counts("ana", "e5") == NOTHING
    assert await embeddings.get("e5", "ana", [0, 1, 2, 3]) == {}
    assert await outbox.pending("bot", "ana", "home") == []


async def test_a_forgotten_episode_is_one_change_without_words_that_names_its_passages(
    journal: Journal, forgetting: Forgetting
) -> None:
    kept, episode = await append(journal, said("ab"), said("cd"))
    head = await journal.head()
    [gone] = await forgetting.forget("ana", [episode.id])
    assert (gone.seq, gone.owner, gone.chat, gone.episode_id, gone.ords) == (
        head + 1,
        "ana",
        "home",
        episode.id,
        (2, 3),
    )
    assert await journal.head() == gone.seq
    first, last = await journal.changes(0, 10)
    assert first.episode == kept
    assert (last.episode, last.episode_id, last.seq) == (None, episode.id, gone.seq)
    assert [(passage.ord, passage.span) for passage in last.passages] == [(2, Span(0, 0)), (3, Span(0, 0))]


async def test_memory_22_a_redelivery_and_an_import_do_not_bring_it_back(
    journal: Journal, forgetting: Forgetting
) -> None:
    [episode] = await append(journal, said("a secret", uid="u1", key="k1", speaker="Ana", meta={"a": "secret"}))
    await forgetting.forget("ana", [episode.id])
    for again in (said("a secret", key="k1"), said("a secret", uid="u1"), said("a secret", uid="u1", key="k1")):
        [appended] = await journal.append([again])
        assert (appended.duplicate, appended.forgotten, appended.episode.id) == (True, True, episode.id)
        assert (appended.episode.text, appended.episode.speaker, dict(appended.episode.meta)) == ("", "", {})
    assert await journal.recent("ana", "home", 5) == []


async def test_forgetting_is_the_owners_own(journal: Journal, forgetting: Forgetting) -> None:
    [of_ana] = await append(journal, said("a secret", uid="u1", key="k1"))
    assert await forgetting.forget("bob", [of_ana.id]) == []
    assert await journal.episodes("ana", [of_ana.id]) == [of_ana]
    await forgetting.forget("ana", [of_ana.id])
    [of_bob] = await journal.append([said("a secret", owner="bob", uid="u1", key="k1")])
    assert not of_bob.duplicate


async def test_the_same_words_said_anew_are_kept(journal: Journal, forgetting: Forgetting) -> None:
    [episode] = await append(journal, said("a secret", key="k1"))
    await forgetting.forget("ana", [episode.id])
    [again] = await journal.append([said("a secret", key="k2")])
    assert not again.duplicate
    assert again.episode.id > episode.id


async def test_numbers_of_forgotten_passages_are_never_used_again(journal: Journal, forgetting: Forgetting) -> None:
    [episode] = await append(journal, said())
    await forgetting.forget("ana", [episode.id])
    await append(journal, said())
    assert [p.ord for p in (await journal.changes(0, 9))[-1].passages] == [2, 3]


async def test_what_is_forgotten_is_unfinished_until_it_is_called_finished(
    journal: Journal, forgetting: Forgetting
) -> None:
    a, b = await append(journal, said("ab"), said("cd", chat="work"))
    gone = await forgetting.forget("ana", [b.id, a.id, 4711])
    assert await forgetting.unfinished() == gone
    assert [one.chat for one in gone] == ["home", "work"]
    await forgetting.finish(gone[:1])
    assert await forgetting.unfinished() == gone[1:]
    await forgetting.finish(gone)
    assert await forgetting.unfinished() == []
    assert await forgetting.forget("ana", [a.id, b.id]) == []


async def test_a_late_topic_does_not_wake_a_forgotten_episode(journal: Journal, forgetting: Forgetting) -> None:
    [episode] = await append(journal, said(exchange_id="x9"))
    [gone] = await forgetting.forget("ana", [episode.id])
    await journal.append([said("later", exchange_id="x9")], [], {"x9": "topic"})
    changes = {change.episode_id: change for change in await journal.changes(0, 9)}
    assert (changes[episode.id].episode, changes[episode.id].seq) == (None, gone.seq)


async def test_the_chats_of_an_owner_are_told_also_when_nothing_is_left_in_them(
    journal: Journal, forgetting: Forgetting
) -> None:
    a, _, _ = await append(journal, said(chat="b"), said(chat="a"), said(owner="bob", chat="c"))
    await forgetting.forget("ana", [a.id])
    assert await forgetting.chats("ana") == ["a", "b"]
    assert await forgetting.chats("nobody") == []


async def test_vectors_are_taken_out_of_every_model(journal: Journal, embeddings: Embeddings) -> None:
    await append(journal, said(), said(owner="bob"))
    vector = np.array([0.6, 0.8], np.float32)
    for model in ("e5", "minilm"):
        await embeddings.put(model, [VectorRow("ana", n, 1, "home", NOON, vector) for n in range(2)], 1)
        await embeddings.put(model, [VectorRow("bob", 0, 2, "home", NOON, vector)], 2)
    await embeddings.remove([("ana", 1), ("ana", 17)])
    for model in ("e5", "minilm"):
        assert sorted(await embeddings.get(model, "ana", [0, 1])) == [0]
        assert sorted(await embeddings.get(model, "bob", [0, 1])) == [0]


async def test_values_are_erased_from_the_history_and_nothing_holds_in_their_place(permanent: PermanentStore) -> None:
    later = NOON.replace(hour=13)
    await permanent.put_fact("ana", "city", "Iași", NOON, 7)
    await permanent.put_fact("ana", "city", "Cluj", later, 8)
    await permanent.put_fact("bob", "city", "Cluj", later, 9)
    await permanent.put_identity("ana", "You are kind.", NOON)
    await permanent.put_identity("ana", "You are Zmeura.", later)
    unwanted = PermanentHistory((Fact("city", "Cluj", later),), (IdentityText("You are kind.", NOON),))
    assert await permanent.erase("ana", unwanted) == 2
    assert await permanent.erase("ana", unwanted) == 0
    assert await permanent.everything("ana") == PermanentHistory(
        (Fact("city", "Iași", NOON, later, 7),), (IdentityText("You are Zmeura.", later),)
    )
    assert await permanent.facts("ana") == []
    assert len(await permanent.facts("bob")) == 1
