"""Text to words: the splitting that terms, passages and questions share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
"""Chinese characters, for use in a character class."""

UNSPACED = f"{HAN}\u3041-\u30ff\u3100-\u312f\u31a0-\u31ff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Letters of scripts without spaces: Chinese, Japanese, Thai, Lao, Burmese, Khmer; for use in a character class."""

LONGEST_WORD = 64
"""What is longer is no word; it is cut."""

_INDIC = "\u0900-\u0963\u0966-\u0dff"
_LETTER = f"(?:[^\\W_{UNSPACED}]|[{_INDIC}])"
_PIECE = re.compile(f"(?P<run>[{UNSPACED}]+)|{_LETTER}+(?:'{_LETTER}+)*")
_ASCII_PIECE = re.compile("[a-z0-9]+(?:'[a-z0-9]+)*")
_RUN_LETTER = re.compile(f"[{UNSPACED}]")
_ALPHANUMERIC = re.compile(r"[^\W_]")
_DIGIT = re.compile("[0-9]")
_NUMBERS_AND_WORDS = re.compile("[0-9]+|[^0-9]+")
_UUID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}")
_IBAN = re.compile("(?<![a-z0-9])[a-z]{2}[0-9]{2}(?: [a-z0-9]{4}){3,7}(?: [a-z0-9]{1,3})?(?![a-z0-9])")
_INITIALS = re.compile(f"{_LETTER}(?:\\.{_LETTER})+")
_MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,6}")
_PHONE = re.compile(r"(?<![\w.])\+?\(?[0-9](?:[ ()./-]{0,2}[0-9]){6,15}(?![\w-])")
_DATE = re.compile(r"[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4}")
_NAMED_BY_A_SIGN = re.compile(r"[a-z](?:\+\+|#)")
_EDGE = "€£¥₹ !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~…“”„«»‹›、。，！？：；「」『』（）［］〈〉《》【】·•؟،؛।॥¿¡–—\u037e"
_CANONICAL_PHONE_DIGITS = 9

GROUPED = re.compile("(?<![0-9.,])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9.,])")
"""A whole number with commas between its thousands."""


class Kind(Enum):
    """How a token becomes terms."""

    WORD = "word"
    """Letters of a script with spaces, perhaps with apostrophes inside."""
    EXACT = "exact"
    """An identifier or a number; it is a term as it stands."""
    RUN = "run"
    """Letters of a script without spaces."""


class Token(NamedTuple):
    """A part of a folded text."""

    text: str
    kind: Kind


def count_words(text: str) -> int:
    """The words of a text as white space separates them; two letters of a script without spaces count as one word."""
    spaced, letters = _RUN_LETTER.subn(" ", text)
    return sum(1 for chunk in spaced.split() if _ALPHANUMERIC.search(chunk)) + (letters + 1) // 2


def tokens(folded: str) -> Iterator[Token]:
    """The words, identifiers and runs of a folded text. An identifier comes whole and then in its parts."""
    for number in _PHONE.finditer(folded):
        yield from _phone(number.group())
    for account in _IBAN.finditer(folded):
        yield from _iban(account.group().split())
    for chunk in folded.split():
        core = chunk.strip(_EDGE)
        if core.isascii() and core.isalpha():
            yield Token(core[:LONGEST_WORD], Kind.WORD)
        elif core:
            yield from _pieces(core)
        if len(chunk) <= 6 and _NAMED_BY_A_SIGN.fullmatch(chunk.rstrip(".,;:!?)")):
            yield Token(chunk.rstrip(".,;:!?)"), Kind.EXACT)


def _phone(written: str) -> Iterator[Token]:
    """The number without its punctuation, and its last digits, which a country code does not change."""
    if _DATE.match(written):
        return
    digits = "".join(_DIGIT.findall(written))
    if digits not in written:
        yield Token(digits, Kind.EXACT)
    if len(digits) > _CANONICAL_PHONE_DIGITS:
        yield Token(digits[-_CANONICAL_PHONE_DIGITS:], Kind.EXACT)


def _iban(groups: list[str]) -> Iterator[Token]:
    """The account number (ISO 13616) without its spaces. Words may follow it, so its check digits tell its end."""
    for end in range(len(groups), 3, -1):
        number = "".join(groups[:end])
        if int("".join(str(int(sign, 36)) for sign in number[4:] + number[:4])) % 97 == 1:
            yield Token(number, Kind.EXACT)
            return


def _pieces(core: str) -> Iterator[Token]:
    """The tokens of a text without white space and without punctuation at its ends."""
    if "@" in core:
        yield from (Token(address.group(), Kind.EXACT) for address in _MAIL.finditer(core))
    if _UUID.fullmatch(core):
        yield from (Token(form, Kind.EXACT) for form in dict.fromkeys((core, core.replace("-", ""), core[:8])))
        return
    if _INITIALS.fullmatch(core):
        yield Token(core.replace(".", "")[:LONGEST_WORD], Kind.WORD)
        return
    if GROUPED.fullmatch(core):
        yield Token(core.replace(",", "")[:LONGEST_WORD], Kind.EXACT)
        return
    whole = core if _is_identifier(core) else ""
    if whole:
        yield Token(whole, Kind.EXACT)
    for match in (_ASCII_PIECE if core.isascii() else _PIECE).finditer(core):
        piece = match.group()
        if match.lastgroup == "run":
            yield Token(piece, Kind.RUN)
        elif _DIGIT.search(piece):
            yield from _with_digits(piece[:LONGEST_WORD], whole)
        else:
            yield Token(piece[:LONGEST_WORD], Kind.WORD)


def _is_identifier(core: str) -> bool:
    if len(core) > LONGEST_WORD or _DIGIT.search(core) is None:
        return False
    return "://" not in core and "'" not in core and _RUN_LETTER.search(core) is None


def _with_digits(piece: str, whole: str) -> Iterator[Token]:
    """A piece with digits: itself, and the numbers and words in it ('iphone15' is also 'iphone' and '15')."""
    if piece != whole:
        yield Token(piece, Kind.EXACT)
    parts = _NUMBERS_AND_WORDS.findall(piece)
    if 1 < len(parts) <= 4:
        for part in parts:
            yield Token(part, Kind.EXACT if part.isdecimal() else Kind.WORD)
