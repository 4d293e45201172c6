"""The arguments of a call, from the text that the model wrote.

What is written wrongly is repaired only where one reading is possible; everything else goes back to the model.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from goat.errors import ToolError

FENCE = re.compile(r"\s*```(?:json)?\s*(.*?)\s*```\s*", re.DOTALL)
TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
"""A whole string, which is kept, or a comma before a closing bracket."""

DEEPEST = 2
"""How often an object may have been encoded as a string."""


class _Duplicate(ValueError):
    """One name twice in an object: which of the values was meant cannot be known."""


def parse_arguments(tool: str, text: str, cut: bool = False) -> dict[str, Any]:
    """The JSON object of a call; an empty text is an empty object. `cut` says that the answer hit its output limit.

    Raises `ToolError` with a sentence that the model can act on.
    """
    written = text.strip()
    if fenced := FENCE.fullmatch(written):
        written = fenced[1]
    if written in {"", "null", "None"}:
        return {}
    try:
        value = _read(written)
    except _Duplicate as twice:
        raise ToolError(tool, f"the arguments name {twice} twice; give each one once") from twice
    except ValueError as broken:
        raise ToolError(tool, _why(broken, written, cut)) from broken
    if not isinstance(value, dict):
        raise ToolError(tool, f"the arguments must be one JSON object, not {_kind(value)}")
    return value


def _read(written: str) -> Any:
    value: Any = written
    for _ in range(DEEPEST + 1):
        if not isinstance(value, str):
            break
        value = _object(value)
    return value


def _object(text: str) -> Any:
    """The JSON value, also with commas before closing brackets, or with Python's quotes and words."""
    try:
        return json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as broken:
        mended = TRAILING_COMMA.sub(lambda found: found[1] or "", text)
        if mended != text:
            return json.loads(mended, object_pairs_hook=_once)
        return _python(text, broken)


def _python(text: str, broken: json.JSONDecodeError) -> Any:
    """The value of a Python literal, as models write it that print a dict. Raises the JSON fault for others."""
    try:
        tree = ast.parse(text, mode="eval")
        if isinstance(tree.body, ast.Dict):
            keys = [key.value for key in tree.body.keys if isinstance(key, ast.Constant)]
            _once([(key, None) for key in keys])
            value = ast.literal_eval(tree)
            return json.loads(json.dumps(value))
    except _Duplicate:
        raise
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        pass
    raise broken


def _once(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise _Duplicate(repr(name))
        found[name] = value
    return found


def _why(broken: ValueError, written: str, cut: bool) -> str:
    if cut:
        return (
            "the call was cut off at the output limit, so nothing was done; make it shorter, for example in several "
            "smaller calls"
        )
    at = f" at character {broken.pos + 1}" if isinstance(broken, json.JSONDecodeError) else ""
    near = written[-60:] if not at else written[max(0, getattr(broken, "pos", 0) - 30) :][:60]
    return f"the arguments are no valid JSON object{at}, near {near!r}; nothing was done, write the call again"


def _kind(value: object) -> str:
    return {list: "a list", str: "a text", bool: "true or false"}.get(type(value), "a number")
