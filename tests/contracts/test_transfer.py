"""The contract of the port Transfer, and of what imports ask of the journal and the permanent store, over every
adapter."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from goat.adapters.permanent_merge import merged
from goat.ports.stores import Forgetting, Journal, PermanentStore, Transfer
from goat.records.episodes import Episode, NewEpisode, Role, Span
from goat.records.memory import Fact, IdentityText, PermanentHistory

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def said(text: str = "hello", owner: str = "ana", **more: Any) -> NewEpisode:
    fields = {"chat": "home", "role": Role.USER, "at": NOON, "exchange_id": "x1", **more}
    return NewEpisode(owner=owner, text=text, **fields)


async def append(journal: Journal, *new: NewEpisode) -> list[Episode]:
    return [appended.episode for appended in await journal.append(new)]


# Reading whole archives


async def test_the_owners_are_those_who_said_something(journal: Journal, transfer: Transfer) -> None:
    assert await transfer.owners() == []
    await append(journal, said(owner="zoë"), said(owner="ana"), said(owner="語"), said(owner="ana"))
    assert await transfer.owners() == ["ana", "zoë", "語"]


async def test_a_scan_walks_an_owners_episodes_in_the_order_of_arrival(journal: Journal, transfer: Transfer) -> None:
    of_ana = []
    for number in range(11):
        [mine, _] = await append(
            journal,
            said(f"message {number}", at=NOON - timedelta(days=number), chat=f"chat {number % 3}"),
            said("not hers", owner="bob"),
        )
        of_ana.append(mine)
    walked, after = [], 0
    while page := await transfer.scan("ana", after, 4):
        assert len(page) <= 4
        walked += page
        after = page[-1].episode_id
    assert [change.episode for change in walked] == of_ana
    assert await transfer.scan("nobody", 0, 4) == []
    assert await transfer.scan("ana", 0, 0) == []


async def test_a_scan_follows_the_ids_also_where_a_topic_came_later(journal: Journal, transfer: Transfer) -> None:
    await append(journal, said("first", exchange_id="a"), said("second", exchange_id="b"))
    await journal.append([said("answer", exchange_id="a")], topics={"a": "t1"})
    scanned = [change.episode for change in await transfer.scan("ana", 0, 10)]
    assert [(e.text, e.topic_id) for e in scanned if e] == [("first", "t1"), ("second", ""), ("answer", "t1")]


async def test_a_scan_brings_the_passages(journal: Journal, transfer: Transfer) -> None:
    await append(journal, said("one two", passages=(Span(0, 3), Span(4, 7))), said("unindexed"))
    found, bare = await transfer.scan("ana", 0, 10)
    assert [passage.span for passage in found.passages] == [Span(0, 3), Span(4, 7)]
    assert bare.passages == ()


async def test_what_was_forgotten_is_not_scanned(journal: Journal, transfer: Transfer, forgetting: Forgetting) -> None:
    _, second, _ = await append(journal, said("a"), said("b"), said("c"))
    await forgetting.forget("ana", [second.id])
    assert [change.episode.text for change in await transfer.scan("ana", 0, 10) if change.episode] == ["a", "c"]


# Episodes that come back


async def test_an_episode_may_bring_its_uid(journal: Journal, transfer: Transfer) -> None:
    [stored] = await append(journal, said(uid="u-1"))
    assert stored.uid == "u-1"
    assert await journal.episodes("ana", [stored.id]) == [stored]
    assert await transfer.find("ana", ["u-1", "unknown"]) == {"u-1": stored.id}
    assert await transfer.find("bob", ["u-1"]) == {}


async def test_memory_12_an_episode_is_known_by_its_uid_and_by_its_key(journal: Journal) -> None:
    [first] = await append(journal, said("a", uid="u-1", source="telegram", key="5"))
    again = await journal.append(
        [
            said("b", uid="u-1"),
            said("b", uid="u-1", source="telegram", key="6"),
            said("b", uid="u-2", source="telegram", key="5"),
            said("b", source="telegram", key="5"),
        ]
    )
    assert [(one.duplicate, one.episode) for one in again] == [(True, first)] * 4
    assert await journal.recent("ana", "home", 10) == [first]


async def test_an_episode_that_comes_twice_in_one_call_is_known_by_its_uid(journal: Journal) -> None:
    one, two = await journal.append([said("a", uid="u-1"), said("a", uid="u-1")])
    assert (one.duplicate, two.duplicate) == (False, True)
    assert one.episode == two.episode


async def test_another_owners_uid_gives_way_to_one_that_is_the_same_every_time(
    journal: Journal, transfer: Transfer
) -> None:
    [of_ana] = await append(journal, said("a", uid="u-1"))
    [of_bob] = await journal.append([said("a", owner="bob", uid="u-1")])
    [again] = await journal.append([said("a", owner="bob", uid="u-1")])
    assert (of_bob.duplicate, again.duplicate) == (False, True)
    assert again.episode == of_bob.episode
    assert of_bob.episode.uid != of_ana.uid
    assert await transfer.find("bob", ["u-1"]) == {"u-1": of_bob.episode.id}
    assert await transfer.find("ana", ["u-1"]) == {"u-1": of_ana.id}


async def test_thousands_of_episodes_with_uids_and_keys_go_in_at_once_and_are_known_again(
    journal: Journal, transfer: Transfer
) -> None:
    many = [said(f"m{n}", uid=f"u{n}", source=f"s{n % 3}", key=str(n), passages=(Span(0, 2),)) for n in range(2_100)]
    appended = await journal.append(many)
    assert [one.episode.text for one in appended] == [new.text for new in many]
    assert not any(one.duplicate for one in appended)
    assert all(one.duplicate for one in await journal.append(many))
    assert len(await transfer.find("ana", [new.uid for new in many])) == 2_100
    changes = await journal.changes(0, 3_000)
    assert [change.episode_id for change in changes] == [one.episode.id for one in appended]
    assert [passage.ord for change in changes for passage in change.passages] == list(range(2_100))


# Facts and identities that come back


def day(number: int) -> datetime:
    return NOON + timedelta(days=number)


async def test_everything_holds_what_is_and_what_was(permanent: PermanentStore) -> None:
    await permanent.put_fact("ana", "city", "Iași", day(0), 7)
    await permanent.put_fact("ana", "city", "Cluj", day(1), None)
    await permanent.put_fact("ana", "pet", "Zmeura", day(0), None)
    await permanent.drop_fact("ana", "pet", day(2))
    await permanent.put_identity("ana", "You are kind.", day(0))
    await permanent.put_identity("ana", "You are Zmeura.", day(1))
    await permanent.put_fact("bob", "city", "Arad", day(0), None)
    assert await permanent.everything("ana") == PermanentHistory(
        (
            Fact("city", "Iași", day(0), day(1), 7),
            Fact("city", "Cluj", day(1), None, None),
            Fact("pet", "Zmeura", day(0), day(2), None),
        ),
        (IdentityText("You are kind.", day(0), day(1)), IdentityText("You are Zmeura.", day(1))),
    )
    assert await permanent.everything("nobody") == PermanentHistory()


async def test_a_history_that_is_taken_in_is_the_same_afterwards_and_once(permanent: PermanentStore) -> None:
    brought = PermanentHistory(
        (
            Fact("city", "Iași", day(0), day(1), 7),
            Fact("city", "Cluj", day(1), None, 9),
            Fact("pet", "Zmeura", day(0), day(2)),
        ),
        (IdentityText("You are kind.", day(0), day(1)), IdentityText("You are Zmeura.", day(1))),
    )
    assert await permanent.take_in("ana", brought) == 5
    assert await permanent.take_in("ana", brought) == 0
    assert await permanent.everything("ana") == brought
    assert await permanent.facts("ana") == [Fact("city", "Cluj", day(1), None, 9)]
    assert await permanent.identity("ana") == "You are Zmeura."
    assert await permanent.everything("bob") == PermanentHistory()


async def test_of_two_values_that_would_hold_the_later_one_holds(permanent: PermanentStore) -> None:
    await permanent.put_fact("ana", "city", "Cluj", day(5), None)
    await permanent.put_fact("ana", "pet", "Zmeura", day(0), None)
    await permanent.put_identity("ana", "mine", day(5))
    await permanent.take_in(
        "ana",
        PermanentHistory(
            (Fact("city", "Iași", day(0)), Fact("pet", "Mure", day(3))),
            (IdentityText("theirs", day(1)),),
        ),
    )
    assert {fact.key: fact.value for fact in await permanent.facts("ana")} == {"city": "Cluj", "pet": "Mure"}
    assert await permanent.history("ana", "city") == [
        Fact("city", "Iași", day(0), day(5)),
        Fact("city", "Cluj", day(5)),
    ]
    assert await permanent.history("ana", "pet") == [Fact("pet", "Zmeura", day(0), day(3)), Fact("pet", "Mure", day(3))]
    assert await permanent.identity("ana") == "mine"


async def test_a_fact_can_be_set_and_dropped_after_a_history_was_taken_in(permanent: PermanentStore) -> None:
    await permanent.take_in("ana", PermanentHistory((Fact("city", "Iași", day(0)),), (IdentityText("kind", day(0)),)))
    await permanent.put_fact("ana", "city", "Cluj", day(1), None)
    await permanent.put_identity("ana", None, day(1))
    assert await permanent.drop_fact("ana", "city", day(2))
    assert await permanent.everything("ana") == PermanentHistory(
        (Fact("city", "Iași", day(0), day(1)), Fact("city", "Cluj", day(1), day(2))),
        (IdentityText("kind", day(0), day(1)),),
    )


moments = st.integers(0, 6).map(day)
facts = st.lists(
    st.builds(Fact, st.just("city"), st.sampled_from("abc"), moments, st.none() | moments.map(lambda m: m)), max_size=6
)


@given(facts, facts)
def test_a_merged_history_has_at_most_one_value_that_holds_it_stands_last_and_nothing_is_lost(
    first: list[Fact], second: list[Fact]
) -> None:
    standing, _ = merged([], first)
    values, new = merged(standing, second)
    holding = [value for value in values if value.until is None]
    assert len(holding) <= 1
    assert not holding or values[-1] is holding[0]
    assert {(v.value, v.since) for v in values} == {(v.value, v.since) for v in [*first, *second]}
    assert len(values) == len(standing) + new
    assert merged(values, second) == (values, 0)
