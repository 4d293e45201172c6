"""What stands between and beside expressions: glue ("at", "on the", a comma) and marks ("from", "since", "until").

Every stretch that is looked at has a bounded length.
"""

from __future__ import annotations

from typing import NamedTuple

from goat.retrieval.when.expressions import Expression
from goat.retrieval.when.grammar import COMMON, GLUE, MARK, Lattice, Mark

JOINS = {"to": None, "and": "between", "onto": "from"}
"""The marks that join two ends of a range, and the mark that must stand before the first."""

OPENING = frozenset(("between", "from"))
LIMITS = frozenset(("since", "until", "before", "after"))
THIRDS = ("early", "mid", "late")
LEADING = OPENING | LIMITS | frozenset(THIRDS)
"""Marks that stand before what they mark."""

_BETWEEN = frozenset((GLUE, MARK))
_BEHIND = "_behind"
"""The end of the names of marks that stand behind what they mark."""

_LONGEST_GAP = 4
"""More tokens than this do not stand between two expressions that belong together, nor between one and its marks."""


class Bridge(NamedTuple):
    """A stretch of nothing but glue and marks: its marks, and whether the others let neighbours belong together."""

    marks: frozenset[Mark]
    glue: bool


def bridge(lattice: Lattice, start: int, end: int) -> Bridge | None:
    """What stands between two tokens, None if there are words that are neither glue nor marks."""
    if end - start > _LONGEST_GAP:
        return None
    marks: set[Mark] = set()
    glue, position = True, start
    while position < end:
        steps = [step for step in lattice[position] if step.key in _BETWEEN and position + step.length <= end]
        if not steps:
            return None
        length = max(step.length for step in steps)
        longest = [step for step in steps if step.length == length]
        here = {step.mark for step in longest if step.mark}
        glue = (glue and any(step.key == GLUE for step in longest)) or any(mark.name in OPENING for mark in here)
        marks |= here
        position += length
    return Bridge(frozenset(marks), glue)


def marks_from(lattice: Lattice, position: int, end: int) -> frozenset[Mark]:
    """The marks that begin at a token and end before or at another."""
    return frozenset(step.mark for step in lattice[position] if step.mark and position + step.length <= end)


def said_of(one: Expression, marks: frozenset[Mark]) -> frozenset[str]:
    """The names of the marks that count for an expression: those of its own language, and for one that is a time
    without them those of any language that do more than point into it."""
    own = {COMMON, *one.families} if one.families and COMMON not in one.families else None
    return frozenset(
        mark.name
        for mark in marks
        if own is None or mark.family in own or (not one.frame.weak and mark.name not in THIRDS)
    )


def marks_before(one: Expression, lattice: Lattice, earliest: int) -> tuple[int, frozenset[str]]:
    """Where the marks that lead to an expression begin, and their names, as in "since the beginning of March"."""
    for position in range(max(earliest, one.start - _LONGEST_GAP), one.start):
        if said_of(one, marks_from(lattice, position, one.start)) & LEADING:
            gap = bridge(lattice, position, one.start)
            if gap is not None:
                return position, said_of(one, gap.marks) & LEADING
    return one.start, frozenset()


def mark_behind(one: Expression, lattice: Lattice) -> tuple[int, frozenset[str]]:
    """Where the mark right behind an expression ends, and its name, as in 三月以来."""
    steps = lattice[one.end] if one.end < len(lattice) else ()
    behind = [(step.length, step.mark) for step in steps if step.mark and step.mark.name.endswith(_BEHIND)]
    if not behind:
        return one.end, frozenset()
    length, mark = max(behind)
    names = said_of(one, frozenset((mark,)))
    return one.end + (length if names else 0), frozenset(name.removesuffix(_BEHIND) for name in names)
