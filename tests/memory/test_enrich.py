"""What is noted about each message: in the commit that keeps it, or later for what came without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.app import App
from goat.errors import BackendUnavailable
from goat.memory.enrich import enriched, entities_in
from goat.records.entities import Entity, EntityKind
from goat.records.episodes import NewEpisode, Role
from goat.retrieval.languages import language_of
from goat.testing.app import memory_app, say

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
ZONE = ZoneInfo("Europe/Bucharest")


def noted(text: str, entities: Sequence[Entity] = ()) -> Mapping[str, str]:
    return enriched(text, NOON, ZONE, entities)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What did we say about the boat and the harbour?", "en"),
        ("Pisica mea se numește Zmeura și nu vrea să doarmă", "ro"),
        ("Ich habe das Auto nicht in die Garage gestellt", "de"),
        ("妹の誕生日は九月十二日です", "ja"),
        ("我的猫喜欢睡觉", "zh"),
        ("내 고양이는 잠을 좋아해요", "ko"),
        ("Мой кот любит спать", "ru"),
        ("4711", ""),
        ("Zmeura", ""),
    ],
)
def test_the_language_of_a_message_is_told_where_it_shows(text: str, language: str) -> None:
    assert language_of(text) == language
    assert noted(text).get("language", "") == language


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("hello there", "greeting"),
        ("my pin is 9152", "statement"),
        ("where is the boat?", "question"),
        ("I live in Cluj with my sister and two cats", "statement"),
        ("妹の誕生日は九月十二日です", "statement"),
    ],
)
def test_the_kind_of_a_message(text: str, kind: str) -> None:
    assert noted(text)["memory_type"] == kind


def test_a_short_message_that_names_somebody_is_no_greeting() -> None:
    assert noted("I met Ana", [Entity(EntityKind.NAME, "Ana")])["memory_type"] == "statement"


@given(st.text(max_size=300))
def test_importance_lies_between_0_and_1_and_grows_with_length(text: str) -> None:
    assert 0 <= float(noted(text)["importance"]) <= float(noted(f"{text} and more words")["importance"]) <= 1


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("Yesterday I fixed the boiler", "2026-03-01"),
        ("I was away from 3 to 5 February", "2026-02-03/2026-02-05"),
        ("We met yesterday at 3 pm and again on 9 February", "2026-03-01T14:00/2026-03-01T16:00 2026-02-09"),
        ("I like boats", ""),
    ],
)
def test_memory_18_the_times_that_a_message_speaks_of_are_kept_by_its_own_day_and_zone(text: str, times: str) -> None:
    assert noted(text).get("times", "") == times


async def test_memory_18_yesterday_is_the_day_before_the_message_in_the_zone_of_its_owner() -> None:
    async with memory_app() as app:
        late = datetime(2026, 3, 2, 22, 30, tzinfo=UTC)  # half past midnight of 3 March in Bucharest
        assert enriched("yesterday", late, ZONE)["times"] == "2026-03-02"
        assert enriched("yesterday", late, UTC)["times"] == "2026-03-01"
        result = await say(app, "yesterday I fixed the boiler")
        zone = app.backends.clock.zone()
        assert result.question.meta["times"] == enriched(result.question.text, result.question.at, zone)["times"]


async def test_a46_every_message_is_enriched_in_the_commit_that_keeps_it() -> None:
    async with memory_app() as app:
        for text in ("I live in Cluj with my sister", "where do I live?"):
            await say(app, text)
        kept = await app.backends.journal.recent("admin", "test", 9)
        assert len(kept) == 4
        assert all({"importance", "memory_type"} <= set(episode.meta) for episode in kept)
        assert kept[0].meta["language"] == "en"
        assert entities_in(kept[0].meta) == (Entity(EntityKind.PLACE, "Cluj"),)
        assert await app.backends.enrichment.waiting(9) == []


async def test_f_b32_what_is_noted_of_an_answer_is_noted_of_its_clean_text() -> None:
    async with memory_app() as app:
        result = await say(app, "what is the meaning of all this?")
        assert dict(result.answer.meta) == enriched(result.text, result.answer.at, app.backends.clock.zone())


def test_f_b33_a_name_with_a_comma_is_one_name_again_when_it_is_read() -> None:
    named = (Entity(EntityKind.PLACE, "Washington, D.C."), Entity(EntityKind.NAME, "Ana: the first, of two"))
    assert entities_in(noted("a trip", named)) == named


class FailingExtractor:
    """An extractor that is away until it is mended."""

    name = "failing"

    def __init__(self) -> None:
        self.away = True

    async def extract(self, texts: Sequence[str]) -> list[tuple[Entity, ...]]:
        """The first word of each text."""
        if self.away:
            raise BackendUnavailable("EntityExtractor", "test", "it is away")
        return [(Entity(EntityKind.NAME, text.split()[0]),) for text in texts]


async def test_a_message_is_kept_though_nothing_can_be_extracted_and_is_enriched_when_it_can() -> None:
    extractor = FailingExtractor()
    async with memory_app(entities=extractor) as app:
        await say(app, "Zmeura is my cat")
        kept = await app.backends.journal.recent("admin", "test", 1, before=2)
        assert "memory_type" in kept[0].meta
        assert entities_in(kept[0].meta) == ()
        extractor.away = False
        await app.memory.archive.enrich()
        kept = await app.backends.journal.recent("admin", "test", 1, before=2)
        assert entities_in(kept[0].meta) == (Entity(EntityKind.NAME, "Zmeura"),)
        assert await app.backends.enrichment.waiting(9) == []


async def bring(app: App, count: int) -> list[int]:
    """Messages that came without anything noted, as an older version or an import leaves them; their ids."""
    new = [
        NewEpisode("admin", "old", Role.USER, f"Message {number} from Ana", NOON, f"x{number}", to_enrich=True)
        for number in range(count)
    ]
    return [one.episode.id for one in await app.memory.archive.append(new)]


async def test_a47_what_was_written_without_is_enriched_later_and_nothing_is_embedded_again() -> None:
    async with memory_app() as app:
        ids = await bring(app, 150)
        before, head = app.memory.archive.version("admin"), await app.backends.journal.head()
        await app.memory.archive.enrich()
        kept = await app.backends.journal.episodes("admin", ids)
        assert all(entities_in(episode.meta) == (Entity(EntityKind.NAME, "Ana"),) for episode in kept)
        assert await app.backends.journal.head() == head
        assert app.memory.archive.version("admin") > before


async def test_a48_noting_about_a_message_that_is_not_there_is_told() -> None:
    async with memory_app() as app:
        (one, two) = await bring(app, 2)
        await app.forgetter.forget(await app.forgetter.by_ids("admin", [one]))
        assert await app.backends.enrichment.note({one: {"language": "en"}, two: {"language": "en"}, 99: {}}) == [
            one,
            99,
        ]
        (kept,) = await app.backends.journal.episodes("admin", [one, two])
        assert kept.meta["language"] == "en"
