"""One spelling for each word, whatever keyboard it was typed on."""

from __future__ import annotations

import re
import unicodedata

_MARKS = re.compile("(?<![\u0400-\u04ff])[\u0300-\u036f]+")
"""Accents, except on Cyrillic letters, where they make another letter (й, ї)."""


def _table() -> dict[int, str | None]:
    spelled_out = {
        "ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t",
        "ŋ": "n", "ĸ": "k", "ə": "e", "ё": "е",
        "أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه", "ؤ": "و", "ئ": "ي",
        "‘": "'", "’": "'", "‛": "'", "ʼ": "'", "´": "'", "`": "'", "＇": "'", "‐": "-", "‑": "-", "−": "-",
    }  # fmt: skip
    table: dict[int, str | None] = {ord(letter): plain for letter, plain in spelled_out.items()}
    invisible = ["\u00ad", "\u0640", "\u061c", "\u2060", "\ufeff", *map(chr, range(0x200B, 0x2010))]
    hebrew_points = map(chr, [*range(0x0591, 0x05BE), 0x05BF, 0x05C1, 0x05C2, 0x05C4, 0x05C5, 0x05C7])
    arabic_vowels = map(chr, [*range(0x0610, 0x061B), *range(0x064B, 0x0660), 0x0670, *range(0x06D6, 0x06DD)])
    for sign in (*invisible, *hebrew_points, *arabic_vowels):
        table[ord(sign)] = None
    for zero in (0x0660, 0x06F0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0E50):
        for digit in range(10):
            table[zero + digit] = str(digit)
    return table


_TABLE = _table()


def fold(text: str) -> str:
    """Lower case, compatibility forms unified (NFKC), accents and vowel points removed, digits western.

    'Ş', 'Ș' and 's' become one letter, 'Straße' is 'strasse', full-width and half-width forms meet. Letters that carry
    meaning by a mark stay: Cyrillic 'й', Japanese 'が', the vowel signs of Indic scripts and of Thai.
    """
    if text.isascii():
        return text.lower()
    lowered = unicodedata.normalize("NFKC", text).casefold()
    bare = _MARKS.sub("", unicodedata.normalize("NFD", lowered).replace("е\u0308", "е"))
    return unicodedata.normalize("NFC", bare).translate(_TABLE)
