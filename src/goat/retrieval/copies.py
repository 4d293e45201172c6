"""Copies: the same words, said again by the same one. One of them stands for all, so that the others leave room for
what else answers; the archive keeps every one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from goat.records.episodes import Episode
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


def _said(episode: Episode) -> tuple[str, str, str]:
    """Who said what: equal for texts that differ in case, accents, white space or the signs at their end only."""
    words = " ".join(fold(episode.text).split())
    return episode.role, episode.speaker, words.rstrip(_AT_THE_END) or words
