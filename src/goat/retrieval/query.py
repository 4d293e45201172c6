"""What is looked for: a message made ready for the pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from hashlib import blake2b

from goat.records.entities import Entity
from goat.records.search import EVERYWHERE, Floats, Where
from goat.retrieval.fold import fold
from goat.retrieval.terms import analyse, guesses
from goat.retrieval.times import windows_of
from goat.retrieval.when import Window
from goat.retrieval.words import Kind, tokens

LONGEST_ASKED = 16_000
"""Characters of a message that are looked for. Of a longer one, which is a document rather than a question, these are
its beginning and its end, where the question to it stands."""

SHORTEST_KEY = 4
"""Characters of a key; a shorter number is a count or an hour as often as it is a name."""


@dataclass(frozen=True, slots=True)
class Query:
    """One question to the archive of one owner.

    `vector` is None when the text could not be embedded; `where` filters every result. `windows` are the times that
    the text names, `keys` the ids, codes and numbers in it, `names` the index terms of the entities in it, and
    `guesses` those of its terms of which it is not sure. `chat` and `topic_id` name the asking thread, for the groups
    that look there first, and `held` the episodes that it holds.
    """

    owner: str
    text: str
    terms: tuple[str, ...]
    at: datetime
    vector: Floats | None = None
    chat: str = ""
    topic_id: str = ""
    where: Where = EVERYWHERE
    windows: tuple[Window, ...] = ()
    keys: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    held: tuple[int, ...] = ()
    guesses: frozenset[str] = frozenset()


def read_query(
    owner: str,
    text: str,
    at: datetime,
    zone: tzinfo,
    vector: Floats | None = None,
    entities: Sequence[Entity] = (),
) -> Query:
    """A text made ready for the pipeline; `at` is when it was written and `zone` where, `entities` what it names."""
    question = sought(text)
    return Query(
        owner=owner,
        text=text,
        terms=distinct_terms(question),
        at=at,
        vector=vector,
        windows=windows_of(question, at, zone),
        keys=exact_keys(question),
        names=distinct_terms(" ".join(entity.text for entity in entities)),
        guesses=guesses(question),
    )


def sought(text: str) -> str:
    """What of a message is looked for."""
    if len(text) <= LONGEST_ASKED:
        return text
    half = LONGEST_ASKED // 2
    return f"{text[:half]}\n{text[-half:]}"


def exact_keys(text: str) -> tuple[str, ...]:
    """The distinct ids, ticket numbers, addresses and long numbers of a text, as they are indexed."""
    exact = (token.text for token in tokens(fold(text)) if token.kind is Kind.EXACT)
    return tuple(dict.fromkeys(key for key in exact if len(key) >= SHORTEST_KEY))


def distinct_terms(text: str) -> tuple[str, ...]:
    """The distinct index terms of a text in their order."""
    return tuple(dict.fromkeys(analyse(text)))


def whole_text_term(text: str) -> str:
    """One term for a message as a whole: equal for texts that differ in case, accents or white space only.

    It finds a message by its own words even where they are all too common to tell it from others.
    """
    digest = blake2b(" ".join(fold(text).split()).encode("utf-8"), digest_size=8).hexdigest()
    return f"={digest}"
