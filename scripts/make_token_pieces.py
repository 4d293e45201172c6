"""Make `src/goat/adapters/data/token_pieces.bin`, the part of the cl100k_base vocabulary that people's texts use.

    python -m pip install wordfreq toktok-rs
    python scripts/make_token_pieces.py

A piece is worth the times that it is used, itself or inside of another, when the words of many languages are encoded,
each as often as it occurs. The worthiest stay. A missing piece costs its words more pieces, so counts err upwards;
where a word nevertheless came out too short, the pieces of its true encoding are added.
"""

from __future__ import annotations

import ast
import math
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import takewhile
from pathlib import Path

import toktok
import wordfreq

from goat.adapters.tokens_estimate import RANKS_AN_OCTAVE, merge, split_words

TARGET = Path(__file__).parent.parent / "src/goat/adapters/data/token_pieces.bin"
PIECES = 38_000
LONGEST_PIECE = 15

MAIN = ("en", "ro", "ja", "zh", "de", "es", "ru", "ar")
MAIN_WORDS, OTHER_WORDS, OTHER_WEIGHT = 30_000, 10_000, 0.2
UNSPACED = ("ja", "zh")
FORMS = ((" {}", str.lower, 0.75), (" {}", str.capitalize, 0.12), ("{}", str.capitalize, 0.1), ("{}", str.lower, 0.03))
"""How a word stands in a text, and how often."""

ENGLISH_WEIGHT, CODE_WEIGHT, SIGNS_WEIGHT, LETTERS_WEIGHT = 2.0, 1.0, 0.5, 0.01
SIGNS = ".,!?:;-–—…()[]{}\"'“”„«»’‘*#`>=+/&%€$°_~^@|\\¿¡،؟؛।。、，：；！？「」『』（）《》～ー・．"
EMOJI = "😀😂😊😍👍🙏❤🎉🔥😢😭🤔✅🚀🎂☀🐱🐶👋🙂😉😅"
SEQUENCES = (
    *(
        "...",
        ".\n\n",
        ":\n\n",
        "?\n\n",
        "\n",
        "\n\n",
        "  ",
        "    ",
        "\n    ",
        "\n        ",
        ").",
        "),",
        '".',
        '",',
        "”.",
        "”,",
    ),
    *(
        "**",
        " **",
        "**:",
        "##",
        "###",
        "```",
        "`.",
        "://",
        "www",
        ".com",
        ".org",
        "()",
        "():",
        "->",
        " =>",
        " ==",
        "__",
    ),
    *("、「", "」、", "。」", "❤️", "☀️"),
)


class Vocabulary:
    """The full vocabulary: ranks, true encodings and what each piece is merged from."""

    def __init__(self) -> None:
        encoding = toktok._encoding("cl100k_base")
        self.ranks = {piece: encoding.encode_single_token(piece) for piece in encoding.token_byte_values()}

    @cache  # noqa: B019 - one object, as long as the program
    def closure(self, piece: bytes) -> frozenset[bytes]:
        """The piece and all that it is merged from, single bytes left out."""
        if len(piece) == 1:
            return frozenset()
        parts = merge(piece, self.ranks, below=self.ranks[piece])
        return frozenset({piece}).union(*(self.closure(part) for part in parts))

    def used_by(self, word: str) -> Iterator[bytes]:
        """The pieces that the encoding of a word needs, a piece once for each use."""
        for part in split_words(word):
            for piece in merge(part.encode(), self.ranks):
                yield from self.closure(piece)


def worth(vocabulary: Vocabulary, words: Iterable[tuple[str, float]], weight: float) -> dict[bytes, float]:
    """The share of each piece in the uses by these words, times `weight`."""
    uses: defaultdict[bytes, float] = defaultdict(float)
    total = 0.0
    for word, frequency in words:
        total += frequency
        for piece in vocabulary.used_by(word):
            uses[piece] += frequency
    return {piece: weight * number / total for piece, number in uses.items()}


def words_of(language: str, number: int) -> Iterator[tuple[str, float]]:
    """The commonest words in the forms that texts have, with their frequencies."""
    frequencies = wordfreq.get_frequency_dict(language, wordlist="best")
    for word in sorted(frequencies, key=lambda word: (-frequencies[word], word))[:number]:
        frequency = frequencies[word]
        if language in UNSPACED:
            yield word, frequency
            continue
        for form, case, share in FORMS:
            yield form.format(case(word)), frequency * share


def code() -> Iterator[tuple[str, float]]:
    """Words of Python programs, from the standard library."""
    for path in sorted(Path(ast.__file__).parent.glob("[a-c]*.py")):
        for word in split_words(path.read_text("utf-8")):
            yield word, 1.0


def signs() -> Iterator[tuple[str, float]]:
    """Punctuation, line ends and emoji as they stand around words."""
    for sign in [*SIGNS, *EMOJI]:
        yield from ((sign, 1.0), (f" {sign}", 1.0), (f"{sign}\n", 0.3))
    yield from ((sequence, 1.0) for sequence in SEQUENCES)


def letters(vocabulary: Vocabulary) -> Iterator[tuple[str, float]]:
    """Every single character in the vocabulary, alone and after a space, so that no script is left to its bytes."""
    for piece in vocabulary.ranks:
        text = piece.decode("utf-8", "ignore")
        if text.encode() == piece and len(text.strip()) == 1 and len(piece) > 1:
            yield text, 1.0


def main() -> None:
    """Choose, mend, write."""
    vocabulary = Vocabulary()
    others = sorted(set(wordfreq.available_languages("small")) - set(MAIN))
    words = [(list(words_of(language, MAIN_WORDS)), ENGLISH_WEIGHT if language == "en" else 1.0) for language in MAIN]
    words += [(list(words_of(language, OTHER_WORDS)), OTHER_WEIGHT) for language in others]
    rest = [(code(), CODE_WEIGHT), (signs(), SIGNS_WEIGHT), (letters(vocabulary), LETTERS_WEIGHT)]
    total: Counter[bytes] = Counter()
    for source, weight in [*words, *rest]:
        total.update(worth(vocabulary, source, weight))
    chosen = {piece for piece, _ in total.most_common(PIECES) if len(piece) <= LONGEST_PIECE}
    mend(vocabulary, chosen, {word for source, _ in words for word, _ in source})
    packed = pack({piece: rounded(vocabulary.ranks[piece]) for piece in chosen})
    TARGET.write_bytes(packed)
    print(f"{len(chosen)} pieces, {len(packed)} bytes")


def mend(vocabulary: Vocabulary, chosen: set[bytes], words: Iterable[str]) -> None:
    """Add the pieces of words that the chosen pieces encode in fewer parts than all of them do."""
    for _ in range(3):
        ranks = {piece: rounded(vocabulary.ranks[piece]) for piece in chosen}
        for part in sorted({part for word in words for part in split_words(word)}):
            true = merge(part.encode(), vocabulary.ranks)
            if len(merge(part.encode(), ranks)) < len(true):
                chosen.update(*(vocabulary.closure(piece) for piece in true if len(piece) <= LONGEST_PIECE))


def pack(pieces: Mapping[bytes, int]) -> bytes:
    """The bytes that `tokens_estimate.read_pieces` reads."""
    data = bytearray(len(pieces).to_bytes(4, "little"))
    before = b""
    for piece in sorted(pieces):
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, piece, strict=False)))
        data += bytes([shared * 16 + len(piece) - shared]) + piece[shared:]
        before = piece
    return zlib.compress(bytes(data) + bytes(pieces[piece] for piece in sorted(pieces)), 9)


def rounded(rank: int) -> int:
    """The rank as the file holds it."""
    return int(RANKS_AN_OCTAVE * math.log2(max(rank, 256) / 256))


if __name__ == "__main__":
    main()
