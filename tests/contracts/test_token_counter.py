"""The contract of the port TokenCounter, and the error of the estimate against a real tokenizer."""

from __future__ import annotations

import subprocess
import sys

import pytest
import toktok
from hypothesis import given, settings
from hypothesis import strategies as st
from measure_tokens import ENCODING, MEAN_OVERCOUNT, WORST_UNDERCOUNT, measure, texts

from goat.adapters.tokens_estimate import EstimatedTokens
from goat.ports.models import TokenCounter

ADAPTERS = [EstimatedTokens()]


@pytest.fixture(params=ADAPTERS, ids=lambda adapter: type(adapter).__name__)
def counter(request: pytest.FixtureRequest) -> TokenCounter:
    adapter: TokenCounter = request.param
    return adapter


def test_an_empty_text_costs_nothing_and_any_other_something(counter: TokenCounter) -> None:
    assert counter.count("") == 0
    assert min(counter.count(text) for text in [" ", "\n", "a", "é", "猫", "🎂", "\u200b", "\ufffd", "٣"]) >= 1


@given(st.text(max_size=200))
@settings(max_examples=300)
def test_no_text_costs_more_than_its_bytes_and_every_count_is_repeated(text: str) -> None:
    for counter in ADAPTERS:
        assert counter.count(text) == counter.count(text) <= len(text.encode("utf-8"))


@given(st.text(max_size=100), st.text(max_size=100))
def test_two_texts_joined_cost_about_what_they_cost_alone(left: str, right: str) -> None:
    for counter in ADAPTERS:
        # Only the words where they meet are cut in another way.
        assert abs(counter.count(left + right) - counter.count(left) - counter.count(right)) <= 100
        assert counter.count(left + "\n\n" + right) >= counter.count(left)


@pytest.mark.parametrize("letter", ["a", " ", "\n", "猫", "👍", "-", "x1", "\u0301"])
def test_a_megabyte_without_an_end_is_counted(counter: TokenCounter, letter: str) -> None:
    assert counter.count(letter * (1_000_000 // len(letter))) > 1000


def test_a27_token_estimate_of_short_text_with_diacritics_is_not_too_low(counter: TokenCounter) -> None:
    assert 7 <= counter.count("Ce cauți mă?") <= 8


def test_a27_token_estimate_holds_its_bounds_in_every_language() -> None:
    messages = texts()
    assert len(messages) >= 8
    assert sum(map(len, messages.values())) >= 1000
    for language, errors in measure(messages).items():
        assert errors.worst_under >= -WORST_UNDERCOUNT, language
        assert errors.mean <= MEAN_OVERCOUNT, language


def test_a27_the_measure_is_taken_against_a_tokenizer_that_counts_as_published() -> None:
    assert toktok.batch_count(["Ce cauți mă?", "hello world", "tiktoken is great!"], ENCODING) == [7, 2, 6]


def test_f_b41_counting_needs_no_network_and_importing_reads_no_vocabulary() -> None:
    script = """
import socket, sys

def refuse(*_):
    raise SystemExit("asked the network")

socket.socket = socket.create_connection = socket.getaddrinfo = refuse
from goat.adapters.tokens_estimate import EstimatedTokens
counter = EstimatedTokens()
assert "_ranks" not in vars(counter)
print(counter.count("Ce cauți mă?"), "toktok" in sys.modules)
"""
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["7", "False"]
