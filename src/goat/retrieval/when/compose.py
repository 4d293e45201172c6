"""From single expressions to what they say together: "yesterday" "at three", "from" "Monday" "to" "Wednesday"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from goat.retrieval.when.asked import Asked
from goat.retrieval.when.expressions import Expression, Reader
from goat.retrieval.when.frames import Frame, merged
from goat.retrieval.when.grammar import Grammar, Lattice
from goat.retrieval.when.marks import (
    JOINS,
    LIMITS,
    OPENING,
    THIRDS,
    Bridge,
    bridge,
    mark_behind,
    marks_before,
    marks_from,
    said_of,
)
from goat.retrieval.when.scan import Token
from goat.retrieval.when.selectors import Relation, Selector


def expressions(grammar: Grammar, tokens: Sequence[Token], lattice: Lattice, asked: Asked) -> list[Expression]:
    """The times that a text names, in its order. What is too weak to stand alone is left out."""
    single = Reader(grammar, tokens, lattice, asked).expressions()
    joined = _joined(_shared(_merged(single, lattice, asked), lattice), lattice)
    return [found for found in joined if counts(found)]


def _merged(single: Iterable[Expression], lattice: Lattice, asked: Asked) -> list[Expression]:
    """Neighbours that agree become one: a day and an hour, a week and a weekday."""
    found: list[Expression] = []
    for one in single:
        before = found[-1] if found else None
        gap = bridge(lattice, before.end, one.start) if before else None
        both = _together(before, one, gap, asked) if before and gap else None
        if both:
            found[-1] = both
        else:
            found.append(one)
    return found


def _together(before: Expression, one: Expression, gap: Bridge, asked: Asked) -> Expression | None:
    """What two neighbours say together, None where each speaks for itself."""
    families = one.families & before.families
    selector = before.frame.selector or _weekday_beside(before, one, gap)
    if selector:
        whole = one.frame.days(asked) if not one.frame.names_time else None
        chosen = selector.of(whole.days) if whole else None
        return Expression(Frame(fixed=chosen), before.start, one.end, families) if chosen else None
    if not (gap.glue or _limits(gap, before, one)):
        return None
    frame = merged(before.frame, one.frame)
    kept = before.marks | (said_of(one, gap.marks) & (LIMITS | OPENING))
    return Expression(frame, before.start, one.end, families, marks=kept) if frame else None


def _weekday_beside(before: Expression, one: Expression, gap: Bridge) -> Selector | None:
    """The selector of "Monday before 9 July"."""
    weekly = before.frame.weekly
    names = said_of(one, gap.marks)
    if weekly is None or before.frame.fixed or before.frame.names_time or not one.frame.names_days:
        return None
    relations: tuple[Relation, ...] = ("before", "after")
    return next((Selector(relation, 1, weekly=weekly) for relation in relations if relation in names), None)


def _limits(gap: Bridge, before: Expression, one: Expression) -> bool:
    """Whether the second is a time of the day that cuts the first short: "yesterday after 3 pm"."""
    of_a_day = before.frame.names_days and not before.frame.names_time
    of_a_time = one.frame.names_time and not one.frame.names_days
    return of_a_day and of_a_time and bool(said_of(one, gap.marks) & LIMITS)


def _shared(single: Sequence[Expression], lattice: Lattice) -> list[Expression]:
    """An hour beside an hour of a named day is of that day: "yesterday at 3 and at 5"."""
    found = list(single)
    pairs = [
        (place, place + 1)
        for place, (one, other) in enumerate(pairwise(single))
        if one.frame.names_time and other.frame.names_time and bridge(lattice, one.end, other.start) is not None
    ]
    for giver, taker in (*pairs, *((later, earlier) for earlier, later in reversed(pairs))):
        one, other = found[giver], found[taker]
        if one.frame.names_days and not other.frame.names_days:
            found[taker] = replace(other, frame=other.frame.sharing_days(one.frame))
    return found


def _joined(found: Sequence[Expression], lattice: Lattice) -> list[Expression]:
    """Ranges from one expression to the next, and the marks that stand before or behind an expression."""
    done: list[Expression] = []
    position = earliest = 0
    while position < len(found):
        one = found[position]
        other = found[position + 1] if position + 1 < len(found) else None
        start, before = marks_before(one, lattice, earliest)
        if other and _joins(lattice, one, other, one.marks | before):
            last, _ = mark_behind(other, lattice)
            one = replace(one, start=start, marks=one.marks | before, to=replace(other, end=last))
            position += 1
        else:
            end, behind = mark_behind(one, lattice)
            marks = before - OPENING
            if marks or behind:
                one = replace(one, start=start if marks else one.start, end=end, marks=one.marks | marks | behind)
        earliest = one.to.end if one.to else one.end
        done.append(one)
        position += 1
    return done


def _joins(lattice: Lattice, one: Expression, other: Expression, before: frozenset[str]) -> bool:
    """Whether a range goes from one to the other; the mark that says so may be the first word of the other."""
    gap = bridge(lattice, one.end, other.start)
    if gap is None:
        return False
    marks = gap.marks | marks_from(lattice, other.start, other.end - 1) if gap.glue else gap.marks
    names = said_of(one, marks) & said_of(other, marks)
    return any(join in names and opened in (None, *before) for join, opened in JOINS.items())


def counts(one: Expression) -> bool:
    """Whether it is a time at all: a word that need not be one needs company."""
    frame = one.frame
    if one.to:
        of_days = frame.names_days or one.to.frame.names_days
        return not (frame.weak and one.to.frame.weak) or (of_days and bool(one.marks & OPENING))
    company = LIMITS | set(THIRDS) if frame.names_days and frame.weekly is None else LIMITS
    return not frame.weak or bool(one.marks & company)
