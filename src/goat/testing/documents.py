"""Documents for a lexical index, for whoever tests one."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from goat.ports.stores import LexicalIndex
from goat.records.search import LexicalDocument

NOON: Final = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def document(number: int, words: str, **fields: Any) -> LexicalDocument:
    """A passage of Ana at home, a minute after the one before it; `fields` are other values of its record."""
    terms = Counter(words.split())
    values: dict[str, Any] = {
        "owner": "ana",
        "ord": number,
        "episode_id": 100 + number,
        "chat": "home",
        "at": NOON + timedelta(minutes=number),
        "terms": terms,
        "length": terms.total(),
        "speaker": "Ana",
    }
    return LexicalDocument(**values | fields)


async def add(index: LexicalIndex, *documents: LexicalDocument) -> None:
    """Bring documents to an index, as one change of the journal."""
    await index.apply(documents, [], cursor=1)
