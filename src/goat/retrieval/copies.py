"""Copies: the same words, said again by the same one. One of them stands for all, so that the others leave room for
what else answers; the archive keeps every one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import tzinfo

from goat.records.episodes import Episode
from goat.records.search import Recalled
from goat.retrieval.fold import fold

_AT_THE_END = " .,;:!…。！、，"


def copies(order: Iterable[int], read: Mapping[int, Episode]) -> dict[int, int]:
    """Which of the episodes that were read say what a better one says, and which that is.

    `order` are the numbers of episodes, best first; those that were not read are passed over.
    """
    first: dict[tuple[str, str, str], int] = {}
    copied: dict[int, int] = {}
    for number in order:
        if number in read and (better := first.setdefault(_said(read[number]), number)) != number:
            copied[number] = better
    return copied


def said_again(result: Recalled, zone: tzinfo) -> str:
    """How often and when the same was said besides, in words; empty where it was not."""
    if not result.copies:
        return ""
    first, last = (result.copies[place].astimezone(zone).date() for place in (0, -1))
    between = f"on {first}" if first == last else f"between {first} and {last}"
    count = len(result.copies)
    return f"and {count} more time{'s' if count > 1 else ''} {between}"


def _said(episode: Episode) -> tuple[str, str, str]:
    """Who said what: equal for texts that differ in case, accents, white space or the signs at their end only."""
    words = " ".join(fold(episode.text).split())
    return episode.role, episode.speaker, words.rstrip(_AT_THE_END) or words
