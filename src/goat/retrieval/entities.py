"""What a text names, by rules alone: names and places by their capitals, codes by their digits.

A capital says nothing where every sentence or every noun begins with one. So the first word of a sentence counts only
where the text has it with a capital elsewhere too, and in German one noun by itself counts only after a word of place.
Chinese, Japanese and Korean have no capitals: there a form of address tells a name, and the word for a town or a land
tells a place.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Final

from goat.records.entities import Entity, EntityKind
from goat.retrieval.fold import fold
from goat.retrieval.languages import language_of, languages
from goat.retrieval.query import exact_keys
from goat.retrieval.words import GROUPED, HAN

READ: Final = 4000
"""Characters of a text in which names are looked for."""

MOST: Final = 32
"""Entities of one text; a longer list tells nothing any more."""

_WORD = re.compile(r"(?:[^\W\d_]\.){2,}|[^\W\d_](?:[\w'’\-]*\w)?")
_INITIALS = re.compile(r"(?:[^\W\d_]\.){2,}")

_BEGINS = re.compile('[.!?…:\n"“„«»(\\[*•—–]|^$')
"""Where one of these stands before a word, its capital may be due to its place."""

_POSSESSIVE = re.compile("['’][sS]$")
_MAY_BE_CODE = re.compile("[0-9@]")
_MEASURE = re.compile(r"[0-9]+[a-z]{1,3}|[0-9][0-9,.:/-]*")
_KATAKANA = "ァ-ヶー"
_HANGUL = "가-힣"
_ADDRESSED = re.compile(
    f"(?<![{HAN}])([{HAN}]{{1,4}})(?=さん|ちゃん|くん|君|様|先生|氏|女士)"
    f"|(?<![{_KATAKANA}])([{_KATAKANA}]{{2,8}})(?=さん|ちゃん|くん|君|様|先生|氏)"
    f"|(?:我叫|名叫|叫做)([{HAN}]{{2,3}})"
    f"|(?<![{_HANGUL}])([{_HANGUL}]{{2,4}})(?=씨|선생님)"
    f"|(?<![{_HANGUL}])([{_HANGUL}]{{2,3}})(?= 씨(?:[가는를의와도에께랑한네만부]|(?![{_HANGUL}])))"
)
"""A form of address that stands by itself is taken for one where no other word begins like it, as `씨앗`, a seed."""

_REGION = re.compile(f"(?:(?<![{HAN}])|(?<=[在去到从回住]))(?![在去到从回住])([{HAN}]{{1,3}}[市省县県都府州国])")


@dataclass(frozen=True, slots=True)
class _Lists:
    """The words of `data/entities.toml`, folded."""

    connectors: frozenset[str]
    after_de: frozenset[str]
    titles: frozenset[str]
    abbreviations: frozenset[str]
    times: frozenset[str]
    places: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class _Word:
    """A word with a capital, or a small word inside of a name. `leads` says that its capital may be due to its place,
    `located` that a word of place stands before it, `titled` a form of address; `abbreviated` that the point after it
    may end no sentence."""

    text: str
    start: int
    end: int
    capital: bool
    leads: bool = False
    located: bool = False
    titled: bool = False
    abbreviated: bool = False


class RuleEntities:
    """The port EntityExtractor by rules."""

    name = "rules"

    async def extract(self, texts: Sequence[str]) -> list[tuple[Entity, ...]]:
        """See `entities_of`."""
        return [entities_of(text) for text in texts]


class NoEntities:
    """The port EntityExtractor where nothing is to be found."""

    name = "none"

    async def extract(self, texts: Sequence[str]) -> list[tuple[Entity, ...]]:
        """Nothing for each."""
        return [()] * len(texts)


def entities_of(text: str) -> tuple[Entity, ...]:
    """The distinct entities of a text: names and places in the order in which they stand, then codes."""
    head = text[:READ]
    keys = exact_keys(GROUPED.sub(" ", head)) if _MAY_BE_CODE.search(head) else ()
    codes = [Entity(EntityKind.CODE, key) for key in keys if _is_code(key)]
    taken = {entity.text for entity in codes}
    named = {fold(entity.text): entity for entity in reversed([*_named(head), *_unspaced(head)])}
    names = [entity for key, entity in reversed(named.items()) if key not in taken]
    return (*names, *codes)[:MOST]


def _named(text: str) -> list[Entity]:
    words = list(_WORD.finditer(text))
    if _shouts(text) or not any(word.group()[0].isupper() for word in words[1:] or words):
        return []
    language = language_of(text)
    runs = list(_runs(text, _capitalised(text, words, language)))
    sure = {fold(word.text) for run in runs for word in run if word.capital and not word.leads}
    found = []
    for run in runs:
        whole = fold(run[0].text) in sure or not all(one.capital for one in run) or len(words) == len(run) > 1
        kept = run if whole else [one for one in run if not one.leads]
        if not kept or (language == "de" and len(kept) == 1 and not (kept[0].located or kept[0].titled)):
            continue
        kind = EntityKind.PLACE if kept[0].located else EntityKind.NAME
        name = " ".join(text[kept[0].start : kept[-1].end].split())
        found.append(Entity(kind, _POSSESSIVE.sub("", name)))
    return found


def _shouts(text: str) -> bool:
    """Whether capitals are the rule in a text, and tell nothing."""
    upper = sum(map(str.isupper, text))
    return upper * 2 > sum(map(str.isalpha, text)) and upper > len("Cluj")


def _capitalised(text: str, words: Sequence[re.Match[str]], language: str) -> Iterator[_Word]:
    """The words that may be of a name, in their order."""
    lists = _lists()
    plain = _function_words(language) | lists.times
    before = lists.places.get(language, frozenset()) if language else frozenset({"in"})
    end, previous, titled = 0, "", False
    for match in words:
        word, folded = match.group(), fold(match.group())
        gap = text[end : match.start()]
        is_title = folded in lists.titles and not word.isupper()
        if word[0].isupper():
            bare = _POSSESSIVE.sub("", folded)
            if len(bare) > 1 and bare not in plain and not is_title:
                shortened = gap == ". " and (titled or previous in lists.abbreviations)
                leads = not previous or (_BEGINS.search(gap) is not None and not shortened)
                located = previous in before and gap == " "
                abbreviated = folded in lists.abbreviations
                yield _Word(word, match.start(), match.end(), True, leads, located, titled, abbreviated)
        elif folded in lists.connectors or (folded in lists.after_de and previous == "de"):
            yield _Word(word, match.start(), match.end(), False)
        end, previous, titled = match.end(), folded, is_title


def _runs(text: str, words: Iterator[_Word]) -> Iterator[list[_Word]]:
    """Words that stand together as one name; it begins and ends with a capital."""
    run: list[_Word] = []
    for word in words:
        if run and not _goes_on(run[-1], text[run[-1].end : word.start], word):
            yield from _trimmed(run)
            run = []
        if run or word.capital:
            run.append(word)
    yield from _trimmed(run)


def _goes_on(last: _Word, gap: str, word: _Word) -> bool:
    """Whether what stands between two words lies inside of a name; in "Washington, D.C." it is a comma."""
    if gap == ", ":
        return _INITIALS.fullmatch(word.text) is not None
    return gap in {" ", "\u00a0"} or (gap == ". " and last.abbreviated)


def _trimmed(run: list[_Word]) -> Iterator[list[_Word]]:
    while run and not run[-1].capital:
        run.pop()
    if run:
        yield run


def _unspaced(text: str) -> list[Entity]:
    """Names and places in scripts without capitals."""
    if text.isascii():
        return []
    names = [Entity(EntityKind.NAME, found[found.lastindex or 0]) for found in _ADDRESSED.finditer(text)]
    return [*names, *(Entity(EntityKind.PLACE, found[1]) for found in _REGION.finditer(text))]


def _is_code(key: str) -> bool:
    """Whether an exact key stands for one thing; amounts, dates and hours do not."""
    if "@" in key or (key.isdecimal() and len(key) > len("2026")):
        return True
    return not _MEASURE.fullmatch(key)


@lru_cache(maxsize=64)
def _function_words(language: str) -> frozenset[str]:
    """Those of the language, or of every language where it does not show."""
    chosen = (language,) if language in languages() else tuple(languages())
    return frozenset[str]().union(*(languages()[code].stop for code in chosen))


@lru_cache(maxsize=1)
def _lists() -> _Lists:
    source = resources.files("goat.retrieval").joinpath("data/entities.toml").read_text(encoding="utf-8")
    table = tomllib.loads(source)
    places = {code: frozenset(fold(listed).split()) for code, listed in table["places"].items()}

    def words(name: str) -> frozenset[str]:
        return frozenset(fold(table[name]).split())

    return _Lists(
        connectors=words("connectors"),
        after_de=words("connectors_after_de"),
        titles=words("titles"),
        abbreviations=words("abbreviations"),
        times=words("times"),
        places=places,
    )
