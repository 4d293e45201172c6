"""The rules that the grammar files name: from the values of a pattern to what it says.

A rule gets the values by the names that the pattern gives them and returns frames, one for each time that it names, or
none where there is no such time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from goat.retrieval.when import rules_calendar, rules_clock, rules_relative
from goat.retrieval.when.asked import Asked
from goat.retrieval.when.frames import Frame
from goat.retrieval.when.grammar import NOTHING
from goat.retrieval.when.values import Values

Rule = Callable[[Values, Asked], tuple[Frame, ...]]

RULES: Mapping[str, Rule] = {
    NOTHING: lambda _values, _asked: (),
    **rules_calendar.RULES,
    **rules_relative.RULES,
    **rules_clock.RULES,
}
"""Every rule by its name."""
