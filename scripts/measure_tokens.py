"""Measure the token estimate against the real tokenizer of cl100k_base.

    python scripts/measure_tokens.py [--json OUT]

The texts are the sentences of `data/token_texts.toml` alone and joined to short, medium and long messages, in eight
languages and as a mix of code, links and emoji. Prints for each the mean error and the worst undercount as shares of
the true number of tokens; leaves with status 1 when a text is undercounted by more than 10 %.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import toktok

from goat.adapters.tokens_estimate import EstimatedTokens

TEXTS = Path(__file__).with_name("data") / "token_texts.toml"
ENCODING = "cl100k_base"
JOINED = {2: 40, 4: 30, 10: 20, 25: 10}
"""How many sentences a message is joined from, and how many such messages there are for each language."""

WORST_UNDERCOUNT = 0.10
MEAN_OVERCOUNT = 0.20


@dataclass(frozen=True)
class Errors:
    """Errors of one language as shares of the true number: -0.1 is an undercount by a tenth."""

    texts: int
    tokens: int
    mean: float
    worst_under: float
    worst_over: float


def texts() -> dict[str, list[str]]:
    """The messages by language, the same in every run."""
    sentences: dict[str, list[str]] = tomllib.loads(TEXTS.read_text(encoding="utf-8"))
    return {language: [*known, *joined(language, known)] for language, known in sentences.items()}


def joined(language: str, sentences: Sequence[str]) -> list[str]:
    """Messages of several sentences, with spaces, line breaks or, where the script has no spaces, nothing between."""
    choice = random.Random(language)
    between = ("", "\n") if language in ("japanese", "chinese") else (" ", "\n")
    return [
        choice.choice(between).join(choice.sample(sentences, number))
        for number, times in JOINED.items()
        for _ in range(times)
    ]


def measure(messages: Mapping[str, Sequence[str]]) -> dict[str, Errors]:
    """The errors of the estimate by language."""
    counter = EstimatedTokens()
    found = {}
    for language, known in messages.items():
        true = toktok.batch_count(known, ENCODING)
        errors = [counter.count(text) / number - 1 for text, number in zip(known, true, strict=True)]
        found[language] = Errors(len(known), sum(true), sum(errors) / len(errors), min(errors), max(errors))
    return found


def report(found: Mapping[str, Errors]) -> list[dict[str, object]]:
    """The figures in the form that every bench of the project writes."""
    figures: list[dict[str, object]] = []
    for language, errors in found.items():
        figures += [
            {
                "name": f"{language}, mean error",
                "value": round(errors.mean, 4),
                "unit": "share",
                "goal": MEAN_OVERCOUNT,
                "met": errors.mean <= MEAN_OVERCOUNT,
            },
            {
                "name": f"{language}, worst undercount",
                "value": round(max(0.0, -errors.worst_under), 4),
                "unit": "share",
                "goal": WORST_UNDERCOUNT,
                "met": -errors.worst_under <= WORST_UNDERCOUNT,
            },
        ]
    return figures


def main() -> int:
    """Print the table, write the JSON; returns the exit status."""
    parser = argparse.ArgumentParser(description="Measure the token estimate against cl100k_base.")
    parser.add_argument("--json", type=Path, metavar="OUT")
    arguments = parser.parse_args()
    found = measure(texts())
    print(f"{'':10} {'texts':>6} {'tokens':>7} {'mean':>8} {'worst under':>12} {'worst over':>11}")
    for language, errors in found.items():
        print(
            f"{language:10} {errors.texts:6} {errors.tokens:7} {errors.mean:+8.1%}"
            f" {min(0.0, errors.worst_under):12.1%} {errors.worst_over:+11.1%}"
        )
    figures = report(found)
    if arguments.json:
        document = {"bench": "tokens", "machine": platform.processor() or platform.machine(), "figures": figures}
        arguments.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0 if all(figure["met"] for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
