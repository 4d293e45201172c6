"""Counting tokens without a tokenizer's files: byte pair encoding with a part of a vocabulary.

Byte pair encoding (Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units", 2016) joins the
neighbours with the lowest rank until no pair of neighbours is a piece of the vocabulary. With a part of the pieces it
joins less, so it counts more tokens, never noticeably fewer: an estimate that errs upwards by itself. The pieces here
are the 38,000 of the public vocabulary cl100k_base (100,000 pieces, MIT licence) that words of about forty languages,
punctuation and code use most. `scripts/measure_tokens.py` measures the error, `scripts/make_token_pieces.py` makes the
file.

Newer vocabularies (o200k_base, those of DeepSeek and Qwen) hold more pieces: their models count about as many tokens in
English and far fewer in other scripts.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from functools import cached_property, lru_cache
from importlib import resources

RANKS_AN_OCTAVE = 16
"""The file holds 16 log2(rank / 256) for the rank of a piece: the order of merging but for near ties."""

_WORD = re.compile(
    r"""
      '(?i:s|t|re|ve|m|ll|d)
    | (?:[^\r\n\w]|_)?[^\W\d_]{1,99}
    | \d{1,3}
    | [ ]?(?:[^\s\w]|_){1,99}[\r\n]{0,99}
    | \s{0,99}[\r\n]{1,99}
    | \s{1,99}(?!\S)
    | \s{1,99}
    """,
    re.VERBOSE,
)
"""Where cl100k_base cuts a text before it encodes the parts by themselves; the bounds are ours and keep time linear."""

_NO_PIECE = 1 << 30


class EstimatedTokens:
    """The port TokenCounter by the vocabulary file in this package, which is read with the first text."""

    def __init__(self) -> None:
        self._cost = lru_cache(maxsize=1 << 16)(self._cost_of)

    def count(self, text: str) -> int:
        """The number of tokens, 0 for an empty text; time is linear in the length of the text."""
        return sum(map(self._cost, split_words(text)))

    @cached_property
    def _ranks(self) -> Mapping[bytes, int]:
        return read_pieces(resources.files("goat.adapters").joinpath("data/token_pieces.bin").read_bytes())

    def _cost_of(self, word: str) -> int:
        return len(merge(word.encode("utf-8", "replace"), self._ranks))


def split_words(text: str) -> list[str]:
    """The parts of a text that are encoded by themselves; together they are the text."""
    return _WORD.findall(text)


def merge(word: bytes, ranks: Mapping[bytes, int], below: int = _NO_PIECE) -> list[bytes]:
    """The pieces that byte pair encoding makes of a word with the pieces whose rank is less than `below`."""
    if ranks.get(word, below) < below:
        return [word]
    parts = [word[at : at + 1] for at in range(len(word))]

    def rank(at: int) -> int:
        found = ranks.get(parts[at] + parts[at + 1], below)
        return found if found < below else _NO_PIECE

    pairs = [rank(at) for at in range(len(parts) - 1)]
    while pairs and (lowest := min(pairs)) < _NO_PIECE:
        at = pairs.index(lowest)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
        del pairs[at]
        if at < len(pairs):
            pairs[at] = rank(at)
        if at > 0:
            pairs[at - 1] = rank(at - 1)
    return parts


def read_pieces(packed: bytes) -> dict[bytes, int]:
    """Pieces and their ranks from the file's bytes.

    The file is zlib data: the number of pieces (uint32, little endian); the pieces in the order of their bytes, each
    as a byte (how many letters it shares with the one before in the upper half, how many follow in the lower half)
    and what follows; then a byte for the rank of each.
    """
    data = memoryview(zlib.decompress(packed))
    number = int.from_bytes(data[:4], "little")
    ranks = data[-number:]
    pieces: dict[bytes, int] = {}
    piece, at = b"", 4
    for rank in ranks:
        shared, further = divmod(data[at], 16)
        piece = piece[:shared] + bytes(data[at + 1 : at + 1 + further])
        pieces[piece] = rank
        at += 1 + further
    return pieces
