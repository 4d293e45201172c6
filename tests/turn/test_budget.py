"""AITS and the split of the budget."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.adapters.tokens_estimate import EstimatedTokens
from goat.records.episodes import Role
from goat.records.memory import HistoryMessage
from goat.settings.sections import AitsSettings, RetrievalBudgetSettings
from goat.turn.budget import Aits, clip, fit_history, split

AT = datetime(2026, 3, 2, tzinfo=UTC)
COUNTER = EstimatedTokens()
AITS = Aits(AitsSettings())


def history(*texts: str) -> list[HistoryMessage]:
    return [
        HistoryMessage(number, Role.USER if number % 2 == 0 else Role.ASSISTANT, text, AT)
        for number, text in enumerate(texts)
    ]


def test_f_b43_a_greeting_gets_about_the_base_budget() -> None:
    assert 2000 <= AITS.budget("hi").tokens <= 2100


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("hi there", 0.0),
        ("is it raining", 0.5),
        ("what is it", 0.8),
        ("what is it and why", 0.9),
        ("how, what, when, where", 1.0),
        ("de ce a plecat", 0.8),
        ("cand vine", 0.8),
        ("când vine", 0.8),
    ],
)
def test_f_b39_confidence_counts_distinct_first_rank_cues_with_or_without_diacritics(
    text: str, confidence: float
) -> None:
    assert AITS.budget(text).confidence == pytest.approx(confidence)


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("warum ist das Auto kaputt", 0.8),
        ("por qué y cuándo", 0.9),
        ("pourquoi est-il parti", 0.8),
        ("dove sono le chiavi", 0.8),
        ("onde está a chave", 0.8),
        ("昨日なぜ来なかったの", 0.8),
        ("いつどこで会う", 0.9),
        ("鍵はありますか", 0.5),
        ("你为什么没来", 0.8),
        ("这是谁的", 0.5),
        ("guten Morgen", 0.0),
        ("おはよう", 0.0),
    ],
)
def test_f_b39_the_cues_of_other_languages_count_and_inside_texts_without_spaces(text: str, confidence: float) -> None:
    assert AITS.budget(text).confidence == pytest.approx(confidence)


@pytest.mark.parametrize("text", ["masina", "mașina", "sauce", "Saudi", "Android"])
def test_f_b39_connectors_count_as_whole_words_only(text: str) -> None:
    assert AITS.budget(text).complexity == pytest.approx(0.7 * len(text) / 200)


@pytest.mark.parametrize("text", ["the nowhere man", "a somehow old showhow", "the taskbar catalog", "the whenabouts"])
def test_o12_a_cue_inside_another_word_is_no_cue(text: str) -> None:
    assert AITS.budget(text).confidence == 0.0


def test_o17_a_word_and_a_long_request_get_budgets_of_their_own() -> None:
    long = "Explain how the boiler works, why it loses water, and when the plumber came; describe each visit. " * 2
    word, question, request = (AITS.budget(text) for text in ("passport?", "what is the alarm code", long))
    assert word.complexity < question.complexity < request.complexity
    assert word.tokens < question.tokens < request.tokens


def test_complexity_is_full_at_three_connectors_and_two_hundred_characters() -> None:
    assert AITS.budget("tea and milk, bread and " + "x" * 200).complexity == pytest.approx(1.0)


def test_the_cap_binds() -> None:
    capped = Aits(AitsSettings(budget_base=4000, budget_hard_cap=5000))
    assert capped.budget("what, why and how, and when").tokens == 5000


@given(st.integers(0, 20000), st.integers(0, 20000), st.integers(0, 20000))
def test_a26_the_shares_never_exceed_the_budget_and_l3_gets_its_guarantee(
    budget: int, mandatory: int, wanted: int
) -> None:
    settings = RetrievalBudgetSettings()
    shares = split(budget, mandatory, wanted, settings.l3_min_guarantee_tokens, settings.l2_floor_tokens)
    assert shares.history + shares.recalled == max(budget - mandatory, 0)
    if budget - mandatory >= settings.l2_floor_tokens + settings.l3_min_guarantee_tokens:
        assert shares.recalled >= min(settings.l3_min_guarantee_tokens, wanted)


def test_f_b03_the_newest_exchange_stays_when_it_is_long_and_the_first_message_is_short() -> None:
    kept = fit_history(history("hi", "hello", "short", "word " * 20000), 1000, COUNTER)
    assert kept[-1].text.startswith("word word")
    assert sum(COUNTER.count(message.text) for message in kept) <= 1000


def test_f_b03_the_pin_is_paid_from_what_the_newest_exchange_leaves() -> None:
    texts = ["pin me", *["filler text " * 30 for _ in range(9)], "last " * 420]
    kept = fit_history(history(*texts), 500, COUNTER)
    assert kept[-1].text.startswith("last last")


def test_a_short_first_message_is_pinned_and_the_middle_falls_out() -> None:
    kept = fit_history(history("we talk about boats", *["filler text " * 40 for _ in range(9)]), 600, COUNTER)
    assert kept[0].text == "we talk about boats"
    assert [message.episode_id for message in kept] != list(range(10))


@given(st.lists(st.text(max_size=300), max_size=12), st.integers(0, 400))
def test_f_b36_history_never_costs_more_than_its_share_and_keeps_its_order(texts: list[str], tokens: int) -> None:
    kept = fit_history(history(*texts), tokens, COUNTER)
    assert sum(COUNTER.count(message.text) for message in kept) <= tokens
    assert [message.episode_id for message in kept] == sorted(message.episode_id for message in kept)


@given(st.text(max_size=400), st.integers(0, 100))
def test_clip_fits_and_keeps_the_beginning(text: str, tokens: int) -> None:
    clipped = clip(text, tokens, COUNTER)
    assert COUNTER.count(clipped) <= tokens
    assert clipped == text or text.startswith(clipped.removesuffix(" […]"))
