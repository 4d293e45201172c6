"""The single expressions of a text: the longest pattern at each place, and what it says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from goat.retrieval.fold import fold
from goat.retrieval.languages import languages
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


class Reader:
    """Reads the expressions of one text."""

    def __init__(self, grammar: Grammar, tokens: Sequence[Token], lattice: Lattice, asked: Asked) -> None:
        self._grammar = grammar
        self._tokens = tokens
        self._lattice = lattice
        self._asked = asked
        self._words: frozenset[str] | None = None

    def expressions(self) -> Iterator[Expression]:
        """The expressions from left to right; none overlaps another."""
        position = 0
        while position < len(self._lattice):
            match = self._match(position)
            if match is None or self._is_overtaken(match):
                position += 1
                continue
            families = frozenset(final.family for final, _ in match.readings)
            for final, values in match.readings:
                frames = RULES[final.rule](Values(final.names, values), self._asked)
                for frame in frames:
                    if final.weak or final.mention:
                        frame = replace(frame, weak=final.weak, explicit=not final.mention)
                    yield Expression(frame, match.start, match.end, families)
                if frames:
                    break
            position = match.end

    def _match(self, position: int) -> Match | None:
        """The longest pattern at a place without the readings that are no time here."""
        match = longest_match(self._grammar.root, self._lattice, position) if self._lattice[position] else None
        if match is None:
            return None
        everyday = self._everyday_in(match)
        readings = tuple(
            (final, values)
            for final, values in match.readings
            if final.language not in everyday and (self._asked.prefer == "future" or final.rule not in AHEAD)
        )
        if len(readings) == len(match.readings):
            return match
        return match._replace(readings=readings) if readings else None

    def _everyday_in(self, match: Match) -> set[str]:
        """The languages whose expression is everyday words of another that the text is rather in.

        "hier" is yesterday in French and here in German: the function words around it decide.
        """
        tokens = self._tokens[match.start : match.end]
        others = self._grammar.elsewhere.get(
            " ".join("#" if token.value is not None else token.text for token in tokens)
        )
        if not others:
            return set()
        if self._words is None:
            self._words = frozenset(fold(token.text) for token in self._tokens if token.kind == "word")
        around = self._words.difference(fold(token.text) for token in tokens)
        stop = {code: around & languages()[code].stop for pair in others for code in pair}
        return {own for own, other in others if len(stop[other] - stop[own]) > len(stop[own] - stop[other])}

    def _is_overtaken(self, match: Match) -> bool:
        """Whether a better expression begins inside of it and goes on behind it.

        That is any in place of one that begins with glue, and one that stands on its own in place of one that does not.
        """
        if match.readings[0][0].rule in SELECTING:
            return False
        glued = any(step.key == GLUE for step in self._lattice[match.start])
        if not glued and not match.is_slight:
            return False
        for position in range(match.start + 1, match.end):
            other = self._match(position)
            if other and other.end > match.end and (not other.is_slight or (glued and not match.is_slight)):
                return True
        return False
