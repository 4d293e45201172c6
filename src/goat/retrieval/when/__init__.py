"""When: the times that a text speaks of.

A deterministic grammar over the raw text. `scan` cuts it into tokens, `grammar` finds the longest expression at each
place by the patterns of `data/when_*.toml` (one file per language; `load` compiles them, `notation` is their notation),
`rules` say what an expression means, `compose` joins neighbours, `extents` puts them on the time line.
"""

from __future__ import annotations

from goat.retrieval.when.load import LANGUAGES, UnknownLanguage
from goat.retrieval.when.slots import Kind
from goat.retrieval.when.windows import Window, find_windows

__all__ = ["LANGUAGES", "Kind", "UnknownLanguage", "Window", "find_windows"]
