"""Tool calls that arrive as text, and their removal from what the person reads.

Known forms, each complete or not, several in a row, in any split over stream pieces:

    <｜DSML｜invoke name="f">…    with bars of any kind or none, with or without a wrapper; a JSON body or parameters
    <tool_call>{…}</tool_call>    Hermes; also with <function=f><parameter=a>…
    <function=f>{…}</function>    Llama
    <|python_tag|>{…}             Llama
    [TOOL_CALLS][{…}]             Mistral; also [TOOL_CALLS]f{…}
    ```json {…} ```               and a bare object as the whole text: only when it names a tool of the turn
    <think>…</think>              thoughts: left out, and no call inside one counts

In code, inline or in a fenced block, markup is text that the person asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from goat.records.models import ToolCall

BARS = r"(?:[|｜‖]{1,2}\s*DSML\s*[|｜‖]{1,2}\s*|antml:)?"
WRAPPER = rf"</?{BARS}(?:tool_calls|function_calls)\s*>"
INVOKE = rf"<{BARS}invoke\s+name\s*=\s*[\"'][^\"'<>]*[\"'][^<>]*>"
MARK = re.compile(
    rf"(?P<fence>(?:^ {{0,3}}```[^`\n]*|```(?:json|tool\w*)[ \t]*)$)|(?P<ticks>`+)|(?P<think><think(?:ing)?>)"
    rf"|(?P<wrapper>{WRAPPER})|(?P<invoke>{INVOKE})"
    r"|(?P<tool_call></?tool_call>)|(?P<function><function=[\w.-]+>)|(?P<python><\|python_tag\|>)"
    r"|(?P<mistral>\[TOOL_CALLS\])"
    r"|(?P<noise><\|(?:eom|eot|im_end|tool_call)[^|<>]*\|>|</function>|</?[|｜‖]{1,2}\s*DSML\s*[|｜‖]{1,2}[^<>]*>)",
    re.IGNORECASE | re.MULTILINE,
)
UNFINISHED = re.compile(r"<[^<>\n]{0,80}$|\[[A-Z_]{0,12}$|`+$")
"""What may become a mark with the next piece."""

PARAMETER = re.compile(
    rf"<{BARS}parameter(?:=(?P<key>[\w.-]+)|(?P<attributes>[^<>]*))>(?P<value>.*?)</{BARS}parameter\s*>",
    re.IGNORECASE | re.DOTALL,
)
ATTRIBUTE = re.compile(r"(\w+)\s*=\s*[\"']([^\"']*)[\"']")
INVOKE_END = re.compile(rf"</{BARS}invoke\s*>", re.IGNORECASE)
FUNCTION_END = re.compile(r"</function>", re.IGNORECASE)
CALL_END = re.compile(r"</tool_call>", re.IGNORECASE)
THINK_END = re.compile(r"</think(?:ing)?>\s*", re.IGNORECASE)
FENCE_END = re.compile(r"^ {0,3}```[ \t]*$", re.MULTILINE)
CALL_FENCES = {"", "json", "tool", "tool_call", "tool_code"}
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")


@dataclass(frozen=True, slots=True)
class Found:
    """What a text holds for the person, the calls in it (their ids empty), and whether one could not be read."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    broken: bool = False


class CallFilter:
    """Takes a text in pieces and gives back what the person may read. `known` are the names of the turn's tools.

    What is settled is not looked at again: only the unsettled end is kept, from the beginning of its line.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known = frozenset(known)
        self._kept = ""
        self._at = 0
        self._in_code = False
        self._may_be_bare = True

    def feed(self, piece: str) -> str:
        """The visible text that this piece settles."""
        self._kept += piece
        if self._may_be_bare and _bare_begins(self._kept, self._known):
            return ""
        self._may_be_bare = self._may_be_bare and not self._kept.strip()
        scan = _Scan(self._kept, self._known, final=False, at=self._at, in_code=self._in_code)
        visible = scan.run().text
        begins = self._kept.rfind("\n", 0, scan.settled) + 1
        self._kept, self._at = self._kept[begins:], scan.settled - begins
        self._in_code = scan.in_code
        return visible

    def finish(self, whole: str) -> Found:
        """What a whole text holds."""
        return _Scan(whole, self._known, final=True).run()


def _bare_begins(text: str, known: frozenset[str]) -> bool:
    """Whether the text may become one call without any tags."""
    return bool(known) and text.lstrip().startswith("{")


@dataclass
class _Scan:
    """Goes over a text from mark to mark."""

    text: str
    known: frozenset[str]
    final: bool
    at: int = 0
    in_code: bool = False
    settled: int = 0
    shown: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    broken: bool = False

    def run(self) -> Found:
        if self.final and self._bare():
            return Found("", tuple(self.calls))
        self.settled = -1
        while self._step():
            pass
        self.settled = self.at if self.settled < 0 else self.settled
        text = "".join(self.shown)
        if self.final and (self.calls or self.broken):
            text = text.rstrip()
        return Found(text, tuple(self.calls), self.broken)

    def _bare(self) -> bool:
        """Whether the whole text is one call."""
        call = _named(_json(self.text.strip()), self.known) if _bare_begins(self.text, self.known) else None
        if call:
            self.calls.append(call)
        return call is not None

    def _step(self) -> bool:
        if self.in_code:
            return self._code(FENCE_END.search(self.text))
        mark = MARK.search(self.text, self.at)
        if mark is None:
            held = None if self.final else UNFINISHED.search(self.text, self.at)
            self._show(held.start() if held else len(self.text))
            return False
        kind = mark.lastgroup or ""
        handlers: Mapping[str, Callable[[re.Match[str]], bool]] = {
            "fence": self._fence,
            "ticks": self._ticks,
            "think": self._think,
            "invoke": self._invoke,
            "tool_call": self._tool_call,
            "function": self._function,
            "python": self._json_after,
            "mistral": self._json_after,
        }
        return handlers.get(kind, self._skip)(mark)

    def _show(self, upto: int) -> None:
        self.shown.append(self.text[self.at : upto])
        self.at = upto

    def _skip(self, mark: re.Match[str]) -> bool:
        """Leave out a tag that carries nothing."""
        self._show(mark.start())
        self.at = mark.end()
        return True

    def _hold(self, mark: re.Match[str], lost: bool = True) -> bool:
        """The end of something is not there: wait for it, or, in a whole text, leave it out."""
        self._show(mark.start())
        self.settled = mark.start()
        self.at = len(self.text)
        self.broken = self.broken or (self.final and lost)
        return False

    def _fence(self, mark: re.Match[str]) -> bool:
        if mark.end() == len(self.text) and not self.final:
            return self._hold(mark)
        language = mark[0].strip().strip("`").strip().lower()
        body = self.text[mark.end() :].lstrip()
        closed = FENCE_END.search(self.text, mark.end())
        if language not in CALL_FENCES or not self.known or body[:1] not in {"{", ""}:
            self._show(mark.end())
            return self._code(closed)
        if not self.final and (closed is None or closed.end() == len(self.text)):
            return self._hold(mark)
        if closed is None:
            return self._code(None)
        call = _named(_json(self.text[mark.end() : closed.start()].strip()), self.known)
        return self._code(closed) if call is None else self._take(mark, closed.end(), [call])

    def _code(self, closed: re.Match[str] | None) -> bool:
        """Show a code block, up to its closing fence or as far as it goes."""
        self.in_code = True
        if closed and closed.end() == len(self.text) and not self.final:
            self._show(max(self.at, closed.start()))  # its line may go on, and then it closes nothing
            return False
        self._show(closed.end() if closed else len(self.text))
        self.in_code = closed is None
        return closed is not None

    def _ticks(self, mark: re.Match[str]) -> bool:
        line_end = self.text.find("\n", mark.end())
        limit = len(self.text) if line_end < 0 else line_end
        closed = re.compile(rf"(?<!`){mark['ticks']}(?!`)").search(self.text, mark.end(), limit)
        open_ended = line_end < 0 and (closed is None or closed.end() == len(self.text))
        if open_ended and not self.final:
            return self._hold(mark)
        self._show(closed.end() if closed else mark.end())
        return True

    def _think(self, mark: re.Match[str]) -> bool:
        closed = THINK_END.search(self.text, mark.end())
        begins_line = not self.text[: mark.start()].rpartition("\n")[2].strip()
        if closed is None and (begins_line or not self.final):
            return self._hold(mark, lost=False)
        self._show(mark.start() if closed else mark.end())
        self.at = closed.end() if closed else self.at
        return True

    def _invoke(self, mark: re.Match[str]) -> bool:
        closed = INVOKE_END.search(self.text, mark.end())
        if closed is None:
            return self._hold(mark)
        name = dict(ATTRIBUTE.findall(mark[0])).get("name", "")
        return self._take(mark, closed.end(), [_call(name, _body(self.text[mark.end() : closed.start()]))])

    def _function(self, mark: re.Match[str]) -> bool:
        closed = FUNCTION_END.search(self.text, mark.end())
        if closed is None:
            return self._hold(mark)
        name = mark[0][len("<function=") : -1]
        return self._take(mark, closed.end(), [_call(name, _body(self.text[mark.end() : closed.start()]))])

    def _tool_call(self, mark: re.Match[str]) -> bool:
        if mark[0].startswith("</"):
            return self._skip(mark)
        closed = CALL_END.search(self.text, mark.end())
        if closed is None:
            return self._hold(mark)
        inner = self.text[mark.end() : closed.start()].strip()
        function = re.match(r"<function=([\w.-]+)>(.*?)(?:</function>)?\s*$", inner, re.DOTALL | re.IGNORECASE)
        call = _call(function[1], _body(function[2])) if function else _named(_json(inner), None)
        return self._take(mark, closed.end(), [call])

    def _json_after(self, mark: re.Match[str]) -> bool:
        """`<|python_tag|>` and `[TOOL_CALLS]`: JSON right behind the tag, a name before it or inside."""
        named = re.compile(r"\s*(?P<name>[\w.-]*)(?:\[ARGS\])?\s*(?=[{\[])").match(self.text, mark.end())
        if named is None:
            return self._hold(mark)
        try:
            value, end = json.JSONDecoder().raw_decode(self.text, named.end())
        except json.JSONDecodeError:
            return self._hold(mark)
        if named["name"]:
            return self._take(mark, end, [_call(named["name"], json.dumps(value, ensure_ascii=False))])
        values = value if isinstance(value, list) else [value]
        return self._take(mark, end, [_named(one, None) for one in values])

    def _take(self, mark: re.Match[str], end: int, calls: list[ToolCall | None]) -> bool:
        """Put the calls aside; the text between mark and end is not shown."""
        self._show(mark.start())
        self.at = end
        self.calls += [call for call in calls if call is not None]
        self.broken = self.broken or None in calls
        return True


def _call(name: str, arguments: str) -> ToolCall:
    return ToolCall("", name.strip(), arguments)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _named(value: Any, known: frozenset[str] | None) -> ToolCall | None:
    """The call that a JSON object describes; with `known`, only one of these tools and with its arguments."""
    if not isinstance(value, dict):
        return None
    inner = value.get("function")
    value = inner if isinstance(inner, dict) else value
    name = next((value[key] for key in ("name", "tool", "tool_name") if isinstance(value.get(key), str)), None)
    key = next((key for key in ARGUMENT_KEYS if key in value), None)
    if name is None or (known is not None and (name not in known or key is None)):
        return None
    arguments = value.get(key) if key else {}
    return _call(name, arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False))


def _body(text: str) -> str:
    """The arguments between the tags, as JSON text: an object as it stands, or typed parameters."""
    parameters = list(PARAMETER.finditer(text))
    if not parameters:
        return text.strip()
    values = {}
    for one in parameters:
        attributes = dict(ATTRIBUTE.findall(one["attributes"] or ""))
        name = one["key"] or attributes.get("name", "")
        values[name] = _typed(one["value"], attributes.get("string"))
    return json.dumps(values, ensure_ascii=False)


def _typed(value: str, string: str | None) -> Any:
    """A parameter's value: text where it says so, else JSON where it is that."""
    if string == "true":
        return value
    decoded = _json(value.strip())
    return value.strip("\n") if decoded is None and value.strip() != "null" else decoded
