"""Text to index terms, the same for messages and for questions.

A term must bring a question to the message it asks about, though people inflect words, leave out accents, mix
languages, and though the language of four words cannot be told for certain. So every word of a spaced script gives

- its *key*: the first five letters of the folded word. It depends on nothing but the word, so a question meets a
  message that has the same word, or one that begins alike, whatever language either was taken for;
- its *stem* (Snowball) in the language of the text, which brings together what the key does not ('cars' and 'car',
  'Haeuser' and 'Haus'). Where several languages are as likely, its stem in each of them: a text without a function
  word is stemmed in all languages, so it meets a text whose language was told.

Function words are left out by the language of the text. A text of nothing but function words keeps them.

Scripts without spaces (Chinese, Japanese, Thai, ...) give character bigrams, Chinese characters also by themselves:
'猫' must find '猫が好き'. Korean words give themselves and their bigrams, for particles hang on to them. Identifiers
(UUIDs, ticket numbers, versions, mail addresses, telephone numbers) give the whole and the parts. What only its
punctuation tells apart meets: 'U.S.A.' and 'USA', '1,500' and '1500', a UUID without hyphens, an IBAN with spaces.

Truncation to five letters is nearly as good as a stemmer (McNamee and Mayfield, "Character n-gram tokenization for
European language text retrieval", Information Retrieval 7, 2004), and needs no language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from goat.retrieval.fold import fold
from goat.retrieval.languages import (
    LATIN,
    language_of_script,
    latin_languages,
    likely_languages,
    stem,
    stop_words,
)
from goat.retrieval.words import HAN, Kind, Token, count_words, tokens

VERSION = 3
"""Grows with every change of the terms: an index of another version has to be built anew."""

_KEY_LETTERS = 5
_SHORT_WORDS = 30
_QUESTION_MARK = re.compile("[?\uff1f\u061f\u037e]")
"""The question marks of Latin and most other scripts, of Chinese and Japanese, of Arabic and of Greek."""

_LINK = re.compile(r"\b\w{1,16}://\S*[^\s?\uff1f]")
_IS_HAN = re.compile(f"[{HAN}]")
_PARTICLES = {
    "arabic": ("وال", "بال", "كال", "فال", "لل", "ال"),
    "hebrew": ("וה", "של", "ה", "ב", "ל", "מ", "ש", "ו", "כ"),
}
_LETTERS_LEFT = {"arabic": 2, "hebrew": 3}


def analyse(text: str, language: str | None = None) -> list[str]:
    """The terms of a text in their order, a repeated word repeated; [] when there is no word in it.

    `language` is the ISO 639-1 code of the text when it is known; it settles words in the Latin script and is only a
    hint: an unknown code, or one of another script, leaves the language to be told from the words. Time is linear in
    the length of the text.
    """
    found = list(tokens(fold(text)))
    if language is not None and language in latin_languages():
        codes: tuple[str, ...] = (language,)
    else:
        codes = likely_languages(_latin_words(found))
    terms = [term for token in found if not _is_function_word(token, codes) for term in _terms(token, codes)]
    return terms or [term for token in found for term in _terms(token, codes, keep_all=True)]


def guesses(text: str) -> frozenset[str]:
    """The terms of a text of which it is not sure, where its language is not told.

    They are the stems of one word in one of several languages, of which no more than one is right, and the words that
    are function words in one of them.
    """
    found = list(tokens(fold(text)))
    codes = likely_languages(_latin_words(found))
    if len(codes) < 2:
        return frozenset()
    unsure: set[str] = set()
    for word in _latin_words(found):
        if "'" in word or _script(word) != LATIN:
            continue
        terms = _word_terms(word, codes)
        if any(word in stop_words((code,)) for code in codes):
            unsure.update(terms)
        elif len(terms) > 2:
            unsure.update(terms[1:])
    return frozenset(unsure)


def _latin_words(found: Iterable[Token]) -> Iterator[str]:
    for token in found:
        if token.kind is Kind.WORD:
            yield token.text
            if "'" in token.text:
                yield from token.text.split("'")


def _is_function_word(token: Token, codes: tuple[str, ...]) -> bool:
    if token.kind is not Kind.WORD:
        return False
    script = _script(token.text)
    return token.text in stop_words(codes if script == LATIN else _codes_of(script))


def _terms(token: Token, codes: tuple[str, ...], keep_all: bool = False) -> tuple[str, ...]:
    match token.kind:
        case Kind.EXACT:
            return (token.text,)
        case Kind.RUN:
            return _run_terms(token.text, frozenset() if keep_all else stop_words(_codes_of("unspaced")))
        case Kind.WORD:
            return _word_terms(token.text, codes)


def _run_terms(run: str, stop: frozenset[str]) -> tuple[str, ...]:
    """Bigrams of a run of letters that are written without spaces, and each Chinese character in it."""
    if len(run) == 1:
        return (run,)
    terms = []
    for at, letter in enumerate(run):
        if _IS_HAN.match(letter):
            terms.append(letter)
        pair = run[at : at + 2]
        if len(pair) == 2 and pair not in stop:
            terms.append(pair)
    return tuple(terms)


@lru_cache(maxsize=1 << 16)
def _word_terms(word: str, codes: tuple[str, ...]) -> tuple[str, ...]:
    """The key of a word and its stems, each once. Of parts around an apostrophe the function words are dropped."""
    if "'" in word:
        parts = [part for part in word.split("'") if len(part) > 1]
        kept = [part for part in parts if part not in stop_words(codes)] or parts
        return tuple(term for part in kept for term in _word_terms(part, codes))
    script = _script(word)
    if script == LATIN:
        return _distinct(_key(word), *(stem(word, code) for code in codes))
    if script == "hangul":
        return _distinct(word, *(word[at : at + 2] for at in range(len(word) - 1)))
    bare = _without_particle(word, script)
    return _distinct(_key(bare), _key(word), *(stem(word, code) for code in _codes_of(script)))


def _key(word: str) -> str:
    """Marked, so that it never counts as the stem of another word."""
    return word[:_KEY_LETTERS] + "*"


def _distinct(*terms: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(terms))


def _without_particle(word: str, script: str) -> str:
    """The word without the article or preposition that these scripts write together with it."""
    for particle in _PARTICLES.get(script, ()):
        if word.startswith(particle) and len(word) - len(particle) >= _LETTERS_LEFT[script]:
            return word[len(particle) :]
    return word


_SCRIPTS = (
    (0x0250, LATIN),
    (0x0370, "other"),
    (0x0400, "greek"),
    (0x0530, "cyrillic"),
    (0x0590, "other"),
    (0x0600, "hebrew"),
    (0x0780, "arabic"),
    (0x0900, "other"),
    (0x0980, "devanagari"),
    (0x1E00, "other"),
    (0x1F00, LATIN),
    (0x2000, "greek"),
    (0xAC00, "other"),
    (0xD7B0, "hangul"),
)
"""Scripts by the first code point after each."""


def _script(word: str) -> str:
    point = ord(word[0])
    return next((script for end, script in _SCRIPTS if point < end), "other")


@lru_cache(maxsize=32)
def _codes_of(script: str) -> tuple[str, ...]:
    code = language_of_script().get(script)
    return () if code is None else (code,)


def is_question(text: str) -> bool:
    """Whether the text holds a question mark, not counting those inside of links."""
    return _QUESTION_MARK.search(text) is not None and _QUESTION_MARK.search(_LINK.sub(" ", text)) is not None


def is_short_question(text: str) -> bool:
    """Whether the text is a question of at most 30 words, two letters of a script without spaces being one word."""
    return is_question(text) and count_words(text) <= _SHORT_WORDS
