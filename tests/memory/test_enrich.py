"""What is noted about each message in the commit that keeps it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.memory.enrich import enriched, language_of
from goat.testing.app import memory_app, say


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What did we say about the boat and the harbour?", "en"),
        ("Pisica mea se numește Zmeura și nu vrea să doarmă", "ro"),
        ("Ich habe das Auto nicht in die Garage gestellt", "de"),
        ("妹の誕生日は九月十二日です", "ja"),
        ("我的猫喜欢睡觉", "zh"),
        ("내 고양이는 잠을 좋아해요", "ko"),
        ("Мой кот любит спать", "ru"),
        ("4711", ""),
        ("Zmeura", ""),
    ],
)
def test_the_language_of_a_message_is_told_where_it_shows(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("hello there", "greeting"),
        ("my pin is 9152", "statement"),
        ("where is the boat?", "question"),
        ("I live in Cluj with my sister and two cats", "statement"),
        ("妹の誕生日は九月十二日です", "statement"),
    ],
)
def test_the_kind_of_a_message(text: str, kind: str) -> None:
    assert enriched(text)["memory_type"] == kind


@given(st.text(max_size=300))
def test_importance_lies_between_0_and_1_and_grows_with_length(text: str) -> None:
    assert 0 <= float(enriched(text)["importance"]) <= float(enriched(f"{text} and more words")["importance"]) <= 1


async def test_a46_every_message_is_enriched_in_the_commit_that_keeps_it() -> None:
    async with memory_app() as app:
        for text in ("I live in Cluj with my sister", "where do I live?"):
            await say(app, text)
        kept = await app.backends.journal.recent("admin", "test", 9)
        assert len(kept) == 4
        assert all({"importance", "memory_type"} <= set(episode.meta) for episode in kept)
        assert kept[0].meta["language"] == "en"


async def test_f_b32_what_is_noted_of_an_answer_is_noted_of_its_clean_text() -> None:
    async with memory_app() as app:
        result = await say(app, "what is the meaning of all this?")
        assert dict(result.answer.meta) == enriched(result.text)
