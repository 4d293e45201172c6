"""What a scripted model endpoint answers: a reply in the chat protocol, bytes as they are, or silence.

says("Hello", pieces=3)            a text in three chunks
calls(ToolCall("c1", "add", …))    tool calls, their arguments split over chunks
fails(429, retry_after=3)          an HTTP error
says("Hello", pieces=5).cut(2)     a stream that breaks off after two chunks
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final, Literal, TypeAlias

from goat.records.models import ToolCall

Json: TypeAlias = dict[str, Any]
Delta: TypeAlias = Mapping[str, Any]
Ending: TypeAlias = Literal["done", "without done", "cut", "hang"]

ALL: Final = 1_000_000_000
"""More deltas than any answer has."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The `usage` of an answer. `cached` tokens of the prompt and `reasoning` tokens of the completion are included
    in their totals."""

    prompt: int
    completion: int
    cached: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Said:
    """A reply in the chat protocol, streamed as deltas or merged into one message, as the request asks.

    `first` seconds pass before anything is sent, `between` before each delta after the first. After `upto` deltas the
    reply ends as `ending` says. `tokens` None counts them; `usage` False leaves them out. `choices` False sends a reply
    whose list of choices is empty. `comments` puts a keep-alive comment before each event of a stream.
    """

    deltas: tuple[Delta, ...]
    finish: str | None = "stop"
    first: float = 0.0
    between: float = 0.0
    ending: Ending = "done"
    upto: int = ALL
    tokens: Tokens | None = None
    usage: bool = True
    choices: bool = True
    comments: bool = False

    def slow(self, first: float = 0.0, between: float = 0.0) -> Said:
        """The same with delays, in seconds."""
        return replace(self, first=first, between=between)

    def cut(self, after: int) -> Said:
        """The same, but the connection breaks after so many deltas; asked without a stream, inside the body."""
        return replace(self, ending="cut", upto=after)

    def hang(self, after: int) -> Said:
        """The same, but nothing more comes after so many deltas, until the client leaves."""
        return replace(self, ending="hang", upto=after)

    def without_done(self) -> Said:
        """The same, but the stream ends without its closing `[DONE]`."""
        return replace(self, ending="without done")

    def finishing(self, reason: str | None) -> Said:
        """The same with another finish reason, such as `length` or `content_filter`."""
        return replace(self, finish=reason)

    def costing(self, tokens: Tokens) -> Said:
        """The same with this usage."""
        return replace(self, tokens=tokens)


@dataclass(frozen=True, slots=True)
class Verbatim:
    """An HTTP response as it is, in chunks with `between` seconds before each after the first."""

    chunks: tuple[bytes, ...]
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    first: float = 0.0
    between: float = 0.0


@dataclass(frozen=True, slots=True)
class Silence:
    """The request is taken and never answered, until the client leaves or the server stops."""


Answer: TypeAlias = Said | Verbatim | Silence


def says(text: str, *, pieces: int | Sequence[str] = 1) -> Said:
    """A text, in one chunk, in so many, or in the given ones."""
    parts = in_pieces(text, pieces) if isinstance(pieces, int) else pieces
    return Said(tuple({"content": part} for part in parts))


def calls(*asked: ToolCall, text: str = "", pieces: int = 2) -> Said:
    """Tool calls, with words before them or none.

    A call's first delta names it; its arguments follow in so many pieces, which carry the index only. `pieces` 0 sends
    each call whole in one delta.
    """
    deltas: list[Delta] = [{"content": text}] if text else []
    for index, call in enumerate(asked):
        first = "" if pieces else call.arguments
        named = {"index": index, "id": call.id, "type": "function"}
        deltas.append({"tool_calls": [{**named, "function": {"name": call.name, "arguments": first}}]})
        parts = in_pieces(call.arguments, pieces) if pieces else []
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": part}}]} for part in parts]
    return Said(tuple(deltas), finish="tool_calls")


def thinks(thought: str, text: str = "", *, pieces: int = 2) -> Said:
    """Reasoning in `reasoning_content`, as DeepSeek and others send it, and then a text if there is one."""
    thoughts = tuple({"reasoning_content": part} for part in in_pieces(thought, pieces))
    return Said(thoughts + (says(text, pieces=pieces).deltas if text else ()))


def refuses(text: str) -> Said:
    """A refusal in the field of its own, with no content."""
    return Said(({"refusal": text},))


def says_nothing(content: str | None = None) -> Said:
    """A reply whose content is null, or an empty text."""
    return Said(() if content is None else ({"content": content},))


def no_choices() -> Said:
    """A reply with an empty list of choices."""
    return Said((), choices=False)


def leaks(style: str, name: str, arguments: Mapping[str, object], *, around: str = "{}", pieces: int = 1) -> Said:
    """A tool call that the model wrote into its text; `style` is one of `LEAKS`, `around` has the words around it."""
    return says(around.replace("{}", LEAKS[style](name, arguments)), pieces=pieces)


def fails(status: int, message: str = "", *, code: str | None = None, retry_after: float | None = None) -> Verbatim:
    """An HTTP error with a body as OpenAI writes it."""
    headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    kind = _ERROR_TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return Verbatim((error_body(message or f"scripted error {status}", kind, code=code),), status, headers=headers)


def error_inside(message: str = "scripted error") -> Verbatim:
    """HTTP 200 with an error in the body, as some routers send it."""
    return Verbatim((error_body(message, "server_error"),))


def page(status: int = 502, text: str = "<html><body>Bad gateway</body></html>") -> Verbatim:
    """A page from something between the client and the model."""
    return Verbatim((text.encode(),), status, "text/html")


def raw(*chunks: str | bytes, stream: bool = True) -> Verbatim:
    """Bytes as they are, as a stream of events or as a JSON body: for what is not the protocol."""
    kind = "text/event-stream" if stream else "application/json"
    return Verbatim(tuple(chunk.encode() if isinstance(chunk, str) else chunk for chunk in chunks), content_type=kind)


def hangs() -> Silence:
    """No answer."""
    return Silence()


def in_pieces(text: str, count: int) -> list[str]:
    """The text cut into `count` parts of about one length, or into its characters if those are fewer."""
    count = min(count, len(text))
    bounds = [len(text) * place // count for place in range(count + 1)] if count else []
    return [text[start:end] for start, end in pairwise(bounds)]


def error_body(message: str, kind: str, *, param: str | None = None, code: str | None = None) -> bytes:
    """An error object in the shape of OpenAI's API."""
    return json.dumps({"error": {"message": message, "type": kind, "param": param, "code": code}}).encode()


def merged(deltas: Sequence[Delta]) -> Json:
    """The message that the deltas add up to."""
    message: Json = {"role": "assistant", "content": None, "refusal": None}
    found: dict[int, Json] = {}
    for delta in deltas:
        for name in ("content", "refusal", "reasoning_content"):
            if name in delta:
                message[name] = (message.get(name) or "") + delta[name]
        for part in delta.get("tool_calls", ()):
            call = found.setdefault(part["index"], {"function": {"name": "", "arguments": ""}})
            call.update({key: part[key] for key in ("id", "type") if key in part})
            for key, value in part["function"].items():
                call["function"][key] += value
    if found:
        message["tool_calls"] = [found[index] for index in sorted(found)]
    return message


_ERROR_TYPES: Final = {401: "invalid_request_error", 402: "insufficient_quota", 429: "rate_limit_error"}


def _dsml(bar: str, block: str) -> Callable[[str, Mapping[str, object]], str]:
    def write(name: str, arguments: Mapping[str, object]) -> str:
        tag = f"{bar}DSML{bar}"
        parameters = "".join(
            f'<{tag}parameter name="{key}" string="{str(isinstance(value, str)).lower()}">'
            f"{value if isinstance(value, str) else json.dumps(value)}</{tag}parameter>"
            for key, value in arguments.items()
        )
        return f'<{tag}{block}><{tag}invoke name="{name}">{parameters}</{tag}invoke></{tag}{block}>'

    return write


def _dsml_json(name: str, arguments: Mapping[str, object]) -> str:
    tag = "｜｜DSML｜｜"
    body = json.dumps(arguments)
    return f'<{tag}tool_calls><{tag}invoke name="{name}">{body}</{tag}invoke></{tag}tool_calls>'


def _named(name: str, arguments: Mapping[str, object]) -> str:
    return json.dumps({"name": name, "arguments": arguments})


def _function(name: str, arguments: Mapping[str, object]) -> str:
    parameters = "".join(f"<parameter={key}>{value}</parameter>" for key, value in arguments.items())
    return f"<function={name}>{parameters}</function>"


def _fenced(name: str, arguments: Mapping[str, object]) -> str:
    return f"```json\n{json.dumps({'tool': name, 'arguments': arguments})}\n```"


LEAKS: Final[Mapping[str, Callable[[str, Mapping[str, object]], str]]] = {
    "dsml": _dsml("｜｜", "tool_calls"),
    "dsml json": _dsml_json,
    "dsml single bar": _dsml("｜", "function_calls"),
    "dsml box bar": _dsml("‖", "tool_calls"),
    "dsml ascii bar": _dsml("|", "tool_calls"),
    "tool_call": lambda name, arguments: f"<tool_call>{_named(name, arguments)}</tool_call>",
    "function": _function,
    "mistral": lambda name, arguments: f"[TOOL_CALLS][{_named(name, arguments)}]",
    "fenced": _fenced,
}
"""The ways in which models write tool calls into their text."""
