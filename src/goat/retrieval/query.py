"""What is looked for: a message made ready for the pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b

from goat.records.memory import Held
from goat.records.search import EVERYWHERE, Floats, Where
from goat.retrieval.fold import fold
from goat.retrieval.terms import analyse


@dataclass(frozen=True, slots=True)
class Query:
    """One question to the archive of one owner.

    `vector` is None when the text could not be embedded; `where` filters every result. `chat` and `topic_id` name the
    asking thread, for the groups that look there first; `held` are the results that the thread holds already.
    """

    owner: str
    text: str
    terms: tuple[str, ...]
    at: datetime
    vector: Floats | None = None
    chat: str = ""
    topic_id: str = ""
    held: tuple[Held, ...] = ()
    where: Where = EVERYWHERE


def distinct_terms(text: str) -> tuple[str, ...]:
    """The distinct index terms of a text in their order."""
    return tuple(dict.fromkeys(analyse(text)))


def whole_text_term(text: str) -> str:
    """One term for a message as a whole: equal for texts that differ in case, accents or white space only.

    It finds a message by its own words even where they are all too common to tell it from others.
    """
    digest = blake2b(" ".join(fold(text).split()).encode("utf-8"), digest_size=8).hexdigest()
    return f"={digest}"
