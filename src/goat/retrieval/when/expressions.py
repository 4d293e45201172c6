"""The single expressions of a text: the longest pattern at each place, and what it says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from goat.retrieval.languages import likely_languages
from goat.retrieval.when.asked import Asked
from goat.retrieval.when.frames import Frame
from goat.retrieval.when.grammar import AHEAD, GLUE, SELECTING, Grammar, Lattice, Match, longest_match
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
        match = _match(grammar, tokens, lattice, position, asked)
        if match is None or _is_overtaken(match, grammar, tokens, lattice, asked):
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


def _match(grammar: Grammar, tokens: Sequence[Token], lattice: Lattice, position: int, asked: Asked) -> Match | None:
    """The longest pattern at a place without the readings that are no time here."""
    match = longest_match(grammar.root, lattice, position) if lattice[position] else None
    if match is None:
        return None
    everyday = _everyday_in(match, grammar, tokens)
    readings = tuple(
        (final, values)
        for final, values in match.readings
        if final.language not in everyday and (asked.prefer == "future" or final.rule not in AHEAD)
    )
    return match._replace(readings=readings) if readings else None


def _everyday_in(match: Match, grammar: Grammar, tokens: Sequence[Token]) -> set[str]:
    """The languages whose expression is everyday words of another that the text is rather in.

    "hier" is yesterday in French and here in German: the function words around it decide.
    """
    words = " ".join("#" if token.value is not None else token.text for token in tokens[match.start : match.end])
    if words not in grammar.elsewhere:
        return set()
    around = (token.text for token in (*tokens[: match.start], *tokens[match.end :]) if token.kind == "word")
    likely = likely_languages(around)
    return {own for own, other in grammar.elsewhere[words] if own not in likely and other in likely}


def _is_overtaken(match: Match, grammar: Grammar, tokens: Sequence[Token], lattice: Lattice, asked: Asked) -> bool:
    """Whether a better expression begins inside of it and goes on behind it.

    That is any in place of one that begins with glue, and one that stands on its own in place of one that does not.
    """
    if match.readings[0][0].rule in SELECTING:
        return False
    glued = any(step.key == GLUE for step in lattice[match.start])
    if not glued and not match.is_slight:
        return False
    for position in range(match.start + 1, match.end):
        other = _match(grammar, tokens, lattice, position, asked)
        if other and other.end > match.end and (not other.is_slight or (glued and not match.is_slight)):
            return True
    return False
