"""From single expressions to what they say together: "yesterday" "at three", "from" "Monday" "to" "Wednesday".

Neighbours belong together when nothing but glue ("at", "on the", a comma) or a mark ("from", "since", "to") stands
between them. Every gap and every neighbourhood that is looked at has a bounded length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from goat.retrieval.languages import likely_languages
from goat.retrieval.when.asked import Asked
from goat.retrieval.when.frames import Frame, merged
from goat.retrieval.when.grammar import Final, Grammar, Lattice, Match, longest_match
from goat.retrieval.when.load import GLUE, MARK
from goat.retrieval.when.rules import RULES
from goat.retrieval.when.scan import Token
from goat.retrieval.when.values import Values

_JOINS = {"to": None, "and": "between", "onto": "from"}
"""The marks that join two ends of a range, and the mark that must stand before the first."""

OPENING = frozenset(("between", "from"))
BEHIND = "_behind"
"""The end of the names of marks that stand behind what they mark."""

_COMPANY = frozenset(("since", "until", "before", "after"))
_COMPANY_OF_LONG_TIMES = frozenset(("early", "mid", "late"))
"""Marks that make a time of a word that need not be one."""

_LEADING = OPENING | _COMPANY | _COMPANY_OF_LONG_TIMES
"""Marks that stand before what they mark."""

_KEPT = _COMPANY | OPENING
"""Marks that still count where they stand inside of an expression."""

_LONGEST_GAP = 4
"""More tokens than this do not stand between two expressions that belong together, nor between one and its marks."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A time that was found: what it says, its tokens `start` to `end`, `to` where it reaches if it is a range, and
    its marks."""

    frame: Frame
    start: int
    end: int
    to: Expression | None = None
    marks: frozenset[str] = frozenset()


class _Bridge(NamedTuple):
    """What stands between two expressions: nothing but glue (`glue`), and the marks among it."""

    glue: bool
    marks: frozenset[str]


def expressions(grammar: Grammar, tokens: Sequence[Token], asked: Asked) -> list[Expression]:
    """The times that a text names, in its order. What is too weak to stand alone is left out."""
    lattice = grammar.lattice(tokens)
    single = [
        Expression(replace(frame, weak=final.weak, explicit=not final.mention), match.start, match.end)
        for match in _matches(grammar, tokens, lattice)
        for final, frame in _readings(match, asked)
    ]
    joined = _joined(_shared(_merged(single, lattice), lattice), lattice)
    return [found for found in joined if counts(found)]


def _readings(match: Match, asked: Asked) -> Iterator[tuple[Final, Frame]]:
    """The frames of the first reading that names a time that there is."""
    for final, values in match.readings:
        frames = RULES[final.rule](Values(final.names, values), asked)
        if frames:
            yield from ((final, frame) for frame in frames)
            return


def _matches(grammar: Grammar, tokens: Sequence[Token], lattice: Lattice) -> Iterator[Match]:
    """The longest pattern at each place, from left to right; none overlaps another."""
    position = 0
    while position < len(lattice):
        match = longest_match(grammar.root, lattice, position) if lattice[position] else None
        if match and (_is_everyday(match, grammar, tokens) or _is_overtaken(match, grammar, tokens, lattice)):
            match = None
        if match:
            yield match
        position = match.end if match else position + 1


def _is_everyday(match: Match, grammar: Grammar, tokens: Sequence[Token]) -> bool:
    """Whether an expression is everyday words of another language, and the text is rather in that one.

    "hier" is yesterday in French and here in German: the function words around it decide.
    """
    words = ["#" if token.value is not None else token.text for token in tokens[match.start : match.end]]
    others = grammar.elsewhere.get((match.readings[0][0].language, " ".join(words)))
    if not others:
        return False
    around = (token.text for token in (*tokens[: match.start], *tokens[match.end :]) if token.kind == "word")
    likely = likely_languages(around)
    return match.readings[0][0].language not in likely and any(other in likely for other in others)


def _is_overtaken(match: Match, grammar: Grammar, tokens: Sequence[Token], lattice: Lattice) -> bool:
    """Whether it is weak and a stronger expression begins inside of it and goes on behind it."""
    if not match.weak:
        return False
    inside = (longest_match(grammar.root, lattice, position) for position in range(match.start + 1, match.end))
    return any(
        other and other.end > match.end and not other.weak and not _is_everyday(other, grammar, tokens) for other in inside
    )


def _merged(single: Sequence[Expression], lattice: Lattice) -> list[Expression]:
    """Neighbours that agree become one: a day and an hour, a week and a weekday."""
    found: list[Expression] = []
    for one in single:
        before = found[-1] if found else None
        gap = _bridge(lattice, before.end, one.start) if before else None
        if before and gap and (gap.glue or _limits(gap, before, one)) and (frame := merged(before.frame, one.frame)):
            found[-1] = Expression(frame, before.start, one.end, marks=before.marks | gap.marks & _KEPT)
        else:
            found.append(one)
    return found


def _limits(gap: _Bridge, before: Expression, one: Expression) -> bool:
    """Whether the second is a time of the day that cuts the first short: "yesterday after 3 pm"."""
    of_a_day = before.frame.names_days and not before.frame.names_time
    return of_a_day and one.frame.names_time and not one.frame.names_days and bool(gap.marks & _COMPANY)


def _shared(single: Sequence[Expression], lattice: Lattice) -> list[Expression]:
    """An hour beside an hour of a named day is of that day: "yesterday at 3 and at 5"."""
    found = list(single)
    for place, (one, other) in enumerate(zip(found, found[1:], strict=False)):
        gap = _bridge(lattice, one.end, other.start)
        if gap is None or not (one.frame.names_time and other.frame.names_time):
            continue
        if one.frame.names_days and not other.frame.names_days:
            found[place + 1] = replace(other, frame=other.frame.sharing_days(one.frame))
        elif other.frame.names_days and not one.frame.names_days:
            found[place] = replace(one, frame=one.frame.sharing_days(other.frame))
    return found


def _joined(found: Sequence[Expression], lattice: Lattice) -> list[Expression]:
    """Ranges from one expression to the next, and the marks that stand before or behind an expression."""
    done: list[Expression] = []
    position = earliest = 0
    while position < len(found):
        one = _with_marks_before(found[position], lattice, earliest, _LEADING)
        other = found[position + 1] if position + 1 < len(found) else None
        if other and _joins(lattice, one, other):
            one = replace(one, to=_with_mark_behind(other, lattice))
            position += 1
        else:
            one = _with_marks_before(found[position], lattice, earliest, _LEADING - OPENING)
            one = _with_mark_behind(one, lattice)
        earliest = one.to.end if one.to else one.end
        done.append(one)
        position += 1
    return done


def _joins(lattice: Lattice, one: Expression, other: Expression) -> bool:
    """Whether a range goes from one to the other; the mark that says so may be the first word of the other."""
    gap = _bridge(lattice, one.end, other.start)
    if gap is None:
        return False
    marks = gap.marks | (_marks_at(lattice, other.start, other.end - 1) if gap.glue else frozenset())
    return any(join in marks and opened in (None, *one.marks) for join, opened in _JOINS.items())


def _bridge(lattice: Lattice, start: int, end: int) -> _Bridge | None:
    """What stands between two tokens, None if there are words that are neither glue nor marks."""
    if end - start > _LONGEST_GAP:
        return None
    glue, marks, position = True, set[str](), start
    while position < end:
        steps = [step for step in lattice[position] if step.key in (GLUE, MARK) and step.end <= end]
        if not steps:
            return None
        after = max(step.end for step in steps)
        names = {str(step.value) for step in steps if step.end == after and step.key == MARK}
        glue = glue and (bool(names & OPENING) or any(step.end == after and step.key == GLUE for step in steps))
        marks |= names
        position = after
    return _Bridge(glue, frozenset(marks))


def _with_marks_before(one: Expression, lattice: Lattice, earliest: int, wanted: frozenset[str]) -> Expression:
    """The expression with the marks that lead to it, as in "since the beginning of March"."""
    for position in range(max(earliest, one.start - _LONGEST_GAP), one.start):
        if _marks_at(lattice, position, one.start) & wanted:
            gap = _bridge(lattice, position, one.start)
            if gap is not None:
                return replace(one, start=position, marks=one.marks | gap.marks & wanted)
    return one


def _marks_at(lattice: Lattice, position: int, end: int) -> frozenset[str]:
    """The marks that begin at a token and end before or at another."""
    return frozenset(str(step.value) for step in lattice[position] if step.key == MARK and step.end <= end)


def _with_mark_behind(one: Expression, lattice: Lattice) -> Expression:
    """The expression with the mark right behind it, as in 三月以来."""
    if one.end >= len(lattice):
        return one
    steps = [step for step in lattice[one.end] if step.key == MARK and str(step.value).endswith(BEHIND)]
    if not steps:
        return one
    longest = max(steps, key=lambda step: step.end)
    return replace(one, end=longest.end, marks=one.marks | {str(longest.value).removesuffix(BEHIND)})


def counts(one: Expression) -> bool:
    """Whether it is a time at all: a word that need not be one needs company."""
    frame = one.frame
    if one.to:
        of_days = frame.names_days or one.to.frame.names_days
        return not (frame.weak and one.to.frame.weak) or (of_days and bool(one.marks & OPENING))
    in_parts = frame.names_days and frame.weekly is None
    return not frame.weak or bool(one.marks & (_COMPANY | _COMPANY_OF_LONG_TIMES if in_parts else _COMPANY))
