"""From single expressions to what they say together: "yesterday" "at three", "from" "Monday" "to" "Wednesday".

Neighbours belong together when nothing but glue ("at", "on the", a comma) or a mark ("from", "since", "to") stands
between them. Every gap and every neighbourhood that is looked at has a bounded length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from goat.retrieval.when.asked import Asked
from goat.retrieval.when.frames import Frame, merged
from goat.retrieval.when.grammar import Grammar, Lattice, Match, longest_match
from goat.retrieval.when.load import GLUE, MARK
from goat.retrieval.when.rules import RULES
from goat.retrieval.when.values import Values

_JOINS = {"to": None, "and": "between", "onto": "from"}
"""The marks that join two ends of a range, and the mark that must stand before the first."""

_OPENING = frozenset(("between", "from"))
BEHIND = "_behind"
"""The end of the names of marks that stand behind what they mark."""

_COMPANY_OF_TIMES = frozenset(("since", "until", "before", "after"))
_COMPANY_OF_DAYS = _COMPANY_OF_TIMES | {"early", "mid", "late"}
"""Marks that make a time of a word that need not be one."""

_KEPT = _COMPANY_OF_TIMES | _OPENING
"""Marks that still count where they stand inside of an expression."""

_LONGEST_GAP = 4
"""More tokens than this do not stand between two expressions that belong together, nor between one and its marks."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A time that was found: what it says, its tokens `start` to `end`, `to` where it reaches if it is a range, its
    marks. `language` is that of a single expression, None where several stand together."""

    frame: Frame
    start: int
    end: int
    to: Expression | None = None
    marks: frozenset[str] = frozenset()
    language: str | None = None


class _Bridge(NamedTuple):
    """What stands between two expressions: nothing but glue (`glue`), and the marks among it."""

    glue: bool
    marks: frozenset[str]


def expressions(grammar: Grammar, lattice: Lattice, asked: Asked) -> list[Expression]:
    """The times that the text names, in its order. What is too weak to stand alone is left out."""
    single = _single(grammar, lattice, asked)
    joined = _joined(_shared(_merged(single, lattice), lattice), lattice)
    return [found for found in joined if counts(found)]


def _single(grammar: Grammar, lattice: Lattice, asked: Asked) -> list[Expression]:
    """The longest expression at each place, from left to right; none overlaps another."""
    found: list[Expression] = []
    position = 0
    while position < len(lattice):
        match = longest_match(grammar.root, lattice, position) if lattice[position] else None
        if match is None or (match.weak and _is_overtaken(match, grammar, lattice)):
            position += 1
            continue
        for final, values in match.readings:
            frames = RULES[final.rule](Values(final.names, values), asked)
            for frame in frames:
                said = replace(frame, weak=final.weak, explicit=not final.mention)
                found.append(Expression(said, match.start, match.end, language=final.language))
            if frames:
                break
        position = match.end
    return found


def _is_overtaken(match: Match, grammar: Grammar, lattice: Lattice) -> bool:
    """Whether a stronger expression begins inside of a weak one and goes on behind it."""
    inside = (longest_match(grammar.root, lattice, position) for position in range(match.start + 1, match.end))
    return any(other is not None and other.end > match.end and not other.weak for other in inside)


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
    return of_a_day and one.frame.names_time and not one.frame.names_days and bool(gap.marks & _COMPANY_OF_TIMES)


def _shared(single: Sequence[Expression], lattice: Lattice) -> list[Expression]:
    """An hour beside an hour of a named day is of that day: "yesterday at 3 and at 5"."""
    found = list(single)
    for place, (one, other) in enumerate(zip(found, found[1:], strict=False)):
        gap = _bridge(lattice, one.end, other.start)
        if gap is None or not (one.frame.names_time and other.frame.names_time):
            continue
        if one.frame.names_days and not other.frame.names_days:
            found[place + 1] = replace(other, frame=other.frame.sharing_days(one.frame), language=None)
        elif other.frame.names_days and not one.frame.names_days:
            found[place] = replace(one, frame=one.frame.sharing_days(other.frame), language=None)
    return found


def _joined(found: Sequence[Expression], lattice: Lattice) -> list[Expression]:
    """Ranges from one expression to the next, and the marks that stand before or behind an expression."""
    done: list[Expression] = []
    position = earliest = 0
    while position < len(found):
        one = _with_marks_before(found[position], lattice, earliest)
        other = found[position + 1] if position + 1 < len(found) else None
        if other and _joins(lattice, one, other):
            one = replace(one, to=_with_mark_behind(other, lattice))
            position += 1
        else:
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
        glue = glue and (bool(names & _OPENING) or any(step.end == after and step.key == GLUE for step in steps))
        marks |= names
        position = after
    return _Bridge(glue, frozenset(marks))


def _with_marks_before(one: Expression, lattice: Lattice, earliest: int) -> Expression:
    """The expression with the marks that lead to it, as in "since the beginning of March"."""
    for position in range(max(earliest, one.start - _LONGEST_GAP), one.start):
        if _leading(_marks_at(lattice, position, one.start)):
            gap = _bridge(lattice, position, one.start)
            if gap is not None:
                return replace(one, start=position, marks=one.marks | _leading(gap.marks))
    return one


def _leading(marks: frozenset[str]) -> frozenset[str]:
    return frozenset(mark for mark in marks if mark not in _JOINS and not mark.endswith(BEHIND))


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
    if one.to:
        return bool(one.marks & _OPENING) or not (one.frame.weak and one.to.frame.weak)
    return not one.frame.weak or bool(one.marks & (_COMPANY_OF_DAYS if one.frame.names_days else _COMPANY_OF_TIMES))
