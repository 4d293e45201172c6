"""A message that is a whole document: its beginning and its end are looked for."""

from __future__ import annotations

from datetime import UTC, datetime

from goat.adapters.embedder_hashing import HashingEmbedder
from goat.retrieval.query import LONGEST_ASKED, read_query, sought
from goat.testing.app import memory_app, say

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
MEGABYTE = " ".join(f"w{number:06}" for number in range(125_000))


class Measuring(HashingEmbedder):
    """Keeps how long the queries were."""

    def __init__(self) -> None:
        super().__init__()
        self.lengths: list[int] = []

    async def embed_query(self, text: str):  # type: ignore[no-untyped-def]
        self.lengths.append(len(text))
        return await super().embed_query(text)


def test_a_question_of_usual_length_is_looked_for_whole() -> None:
    text = "what did we say about the boat? " * (LONGEST_ASKED // 32)
    assert sought(text) == text


def test_of_a_megabyte_the_question_before_or_behind_it_is_looked_for() -> None:
    text = f"what was said yesterday about invoice INV-2041?\n{MEGABYTE}\nand about INV-3050?"
    query = read_query("ana", text, NOON, UTC)
    assert query.text == text
    assert {"inv-2041", "inv-3050"} <= set(query.keys)
    assert {window.after.date().isoformat() for window in query.windows} == {"2026-03-01"}
    assert len(query.terms) < LONGEST_ASKED


async def test_a_whole_document_is_kept_and_found_by_its_own_words() -> None:
    document = " ".join(f"w{number:06}" for number in range(4_000))  # more than is asked with
    async with Measuring() as embedder, memory_app(embedder=embedder) as app:
        await say(app, document)
        assert max(embedder.lengths) <= LONGEST_ASKED + 1
        recall = await app.memory.search("admin", "w002001 w002002", app.backends.clock.now(), 5)
        assert recall.results[0].episode.text == document
        thread = await app.memory.thread("admin", "test")
        assert all(len(text) <= LONGEST_ASKED + 1 for text in thread.value.recent_queries)
