"""Made-up messages for the speed benches: many, distinct, of the length of real ones."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from random import Random

from goat.memory.facade import FULL_ARCHIVE
from goat.records.episodes import NewEpisode, Role
from goat.retrieval.passages import split_passages

SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
COMMON = ("the", "a", "to", "and", "of", "in", "is", "it", "that", "for", "on", "with", "was", "my", "you", "we", "not")
TAIL = 30_000
"""Distinct rare words; their use falls off as 1 / rank."""


@cache
def _word(rank: int) -> str:
    """A pronounceable word, the same for a rank every time."""
    random = Random(rank)
    return "".join(random.choice(SYLLABLES) for _ in range(2 + random.randrange(3)))


def sentence(random: Random, words: int) -> str:
    """Words with the frequencies of speech: two of five are common ones."""
    parts = []
    for _ in range(words):
        if random.random() < 0.4:
            parts.append(random.choice(COMMON))
        else:
            parts.append(_word(int(TAIL ** random.random())))
    return " ".join(parts).capitalize() + "."


def episodes(count: int, owner: str, seed: int = 1) -> list[NewEpisode]:
    """`count` messages in four conversations, two minutes apart, person and assistant in turn."""
    return list(stream(count, owner, seed))


def stream(count: int, owner: str, seed: int = 1) -> Iterator[NewEpisode]:
    """The same, one by one."""
    random = Random(seed)
    start = datetime(2025, 1, 1, 8, 0, tzinfo=UTC)
    for number in range(count):
        text = " ".join(sentence(random, random.randint(6, 14)) for _ in range(random.randint(1, 3)))
        yield NewEpisode(
            owner=owner,
            chat=f"chat {number % 4}",
            role=Role.USER if number % 2 == 0 else Role.ASSISTANT,
            text=text,
            at=start + timedelta(minutes=2 * number),
            exchange_id=f"bench-{seed}-{number // 2}",
            tags=(FULL_ARCHIVE,),
            source="bench",
            passages=split_passages(text),
        )
