"""The single expressions of a text: the longest pattern at each place, and what it says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from goat.retrieval.languages import likely_languages
from goat.retrieval.when.asked import Asked
from goat.retrieval.when.frames import Frame
from goat.retrieval.when.grammar import Grammar, Lattice, Match, longest_match
from goat.retrieval.when.rules import RULES
from goat.retrieval.when.scan import Token
from goat.retrieval.when.values import Values


@dataclass(frozen=True, slots=True)
class Expression:
    """A time that was found: what it says, its tokens `start` to `end`, and the families of languages it may be in.

    `to` is where it reaches if it is a range, `marks` what was said about it ("since", "early").
    """

    frame: Frame
    start: int
    end: int
    families: frozenset[str]
    to: Expression | None = None
    marks: frozenset[str] = frozenset()


def single_expressions(
    grammar: Grammar, tokens: Sequence[Token], lattice: Lattice, asked: Asked
) -> Iterator[Expression]:
    """The expressions from left to right; none overlaps another."""
    position = 0
    while position < len(lattice):
        match = _match(grammar, tokens, lattice, position)
        if match is None or (match.yields and _is_overtaken(match, grammar, tokens, lattice)):
            position += 1
            continue
        families = frozenset(final.family for final, _ in match.readings)
        for final, values in match.readings:
            frames = RULES[final.rule](Values(final.names, values), asked)
            for frame in frames:
                said = replace(frame, weak=final.weak, explicit=not final.mention)
                yield Expression(said, match.start, match.end, families)
            if frames:
                break
        position = match.end


def _match(grammar: Grammar, tokens: Sequence[Token], lattice: Lattice, position: int) -> Match | None:
    """The longest pattern at a place without the readings that are everyday words here."""
    match = longest_match(grammar.root, lattice, position) if lattice[position] else None
    if match is None:
        return None
    words = " ".join("#" if token.value is not None else token.text for token in tokens[match.start : match.end])
    if words not in grammar.elsewhere:
        return match
    around = (token.text for token in (*tokens[: match.start], *tokens[match.end :]) if token.kind == "word")
    everyday = _everyday_in(grammar.elsewhere[words], likely_languages(around))
    readings = tuple(reading for reading in match.readings if reading[0].language not in everyday)
    return match._replace(readings=readings) if readings else None


def _everyday_in(elsewhere: Sequence[tuple[str, str]], likely: Sequence[str]) -> set[str]:
    """The languages whose expression is everyday words of another that the text is rather in.

    "hier" is yesterday in French and here in German: the function words around it decide.
    """
    return {own for own, other in elsewhere if own not in likely and other in likely}


def _is_overtaken(match: Match, grammar: Grammar, tokens: Sequence[Token], lattice: Lattice) -> bool:
    """Whether an expression that does not yield begins inside of one that does and goes on behind it."""
    inside = (_match(grammar, tokens, lattice, position) for position in range(match.start + 1, match.end))
    return any(other is not None and other.end > match.end and not other.yields for other in inside)
