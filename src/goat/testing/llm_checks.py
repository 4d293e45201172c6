"""Is this a request that a strict chat completions endpoint takes? What is not in the protocol is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any, Final, TypeAlias

Json: TypeAlias = dict[str, Any]

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_PARTS: Final = {
    "text": "text",
    "image_url": "image_url",
    "input_audio": "input_audio",
    "file": "file",
    "refusal": "refusal",
}
_FIELDS: Final = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal"},
    "tool": {"role", "content", "tool_call_id"},
}


class Refused(Exception):
    """The endpoint does not take the request; `status` and the rest are what it answers."""

    def __init__(
        self,
        message: str,
        param: str | None = None,
        *,
        status: int = 400,
        code: str | None = None,
        kind: str = "invalid_request_error",
    ) -> None:
        self.message = message
        self.param = param
        self.status = status
        self.code = code
        self.kind = kind
        super().__init__(message)


def check_request(body: object, models: Collection[str], extra_fields: Collection[str]) -> Json:
    """The body as an object, if it is a request in the protocol for one of the models. Raises `Refused`."""
    request = _object(body, "the body")
    _no_more_than(request, {*_VALUES, "model", "messages", "tools", "tool_choice", *extra_fields}, "")
    model = request.get("model")
    if not isinstance(model, str) or not model:
        raise Refused("you must provide a model parameter", "model")
    if model not in models:
        raise Refused(f"the model {model!r} does not exist", "model", status=404, code="model_not_found")
    for name, check in _VALUES.items():
        if request.get(name) is not None and not check(request[name]):
            raise Refused(f"invalid value for {name!r}: {request[name]!r}", name, code="invalid_value")
    _check_options(request)
    names = _check_tools(request)
    _check_choice(request, names)
    _check_messages(request.get("messages"))
    return request


def _check_options(request: Json) -> None:
    if request.get("stream_options") is not None and request.get("stream") is not True:
        raise Refused("'stream_options' is only allowed when 'stream' is true", "stream_options")
    if request.get("max_tokens") is not None and request.get("max_completion_tokens") is not None:
        raise Refused("set 'max_tokens' or 'max_completion_tokens', not both", "max_tokens")
    if request.get("parallel_tool_calls") is not None and not request.get("tools"):
        raise Refused("'parallel_tool_calls' is only allowed when 'tools' are given", "parallel_tool_calls")


def _check_tools(request: Json) -> list[str]:
    """The names of the tools."""
    tools = request.get("tools")
    if tools is None:
        return []
    if not isinstance(tools, list) or not 1 <= len(tools) <= 128:
        raise Refused("'tools' must be a list of 1 to 128 tools", "tools")
    names: list[str] = []
    for place, tool in enumerate(tools):
        where = f"tools[{place}]"
        function = _function_of(tool, where)
        _no_more_than(function, {"name", "description", "parameters", "strict"}, f"{where}.function")
        name = _tool_name(function, where)
        if name in names:
            raise Refused(f"tool names must be unique, {name!r} is there twice", f"{where}.function.name")
        if not isinstance(function.get("description", ""), str):
            raise Refused("a description is a text", f"{where}.function.description")
        parameters = function.get("parameters")
        if parameters is not None and _object(parameters, f"{where}.function.parameters").get("type") != "object":
            problem = f"invalid schema for function {name!r}: schema must have type 'object'"
            raise Refused(problem, f"{where}.function.parameters", code="invalid_function_parameters")
        names.append(name)
    return names


def _check_choice(request: Json, names: list[str]) -> None:
    choice = request.get("tool_choice")
    if choice is None:
        return
    if not names:
        raise Refused("'tool_choice' is only allowed when 'tools' are given", "tool_choice")
    if isinstance(choice, str):
        if choice not in ("none", "auto", "required"):
            raise Refused(f"invalid value: {choice!r}", "tool_choice", code="invalid_value")
    elif _tool_name(_function_of(choice, "tool_choice"), "tool_choice") not in names:
        raise Refused("'tool_choice' names a tool that is not among 'tools'", "tool_choice")


def _check_messages(messages: object) -> None:
    if not isinstance(messages, list) or not messages:
        raise Refused("'messages' must be a list with at least one message", "messages")
    open_calls: list[str] = []
    answers_allowed = False
    for place, message in enumerate(messages):
        where = f"messages[{place}]"
        message = _object(message, where)
        role = _check_message(message, where)
        if role == "tool":
            _close_call(message, open_calls, answers_allowed, where)
            continue
        _all_closed(open_calls, where)
        open_calls = [call["id"] for call in message.get("tool_calls") or ()]
        answers_allowed = bool(open_calls)
    _all_closed(open_calls, "messages")


def _close_call(message: Json, open_calls: list[str], allowed: bool, where: str) -> None:
    if not allowed:
        raise Refused("a message with role 'tool' must follow a message with 'tool_calls'", f"{where}.role")
    if message["tool_call_id"] not in open_calls:
        raise Refused(f"no open tool call has the id {message['tool_call_id']!r}", f"{where}.tool_call_id")
    open_calls.remove(message["tool_call_id"])


def _all_closed(open_calls: list[str], where: str) -> None:
    if open_calls:
        missing = ", ".join(open_calls)
        problem = f"a message with 'tool_calls' must be followed by tool messages for each id; missing: {missing}"
        raise Refused(problem, where)


def _check_message(message: Json, where: str) -> str:
    """The role of a message that is right by itself."""
    role = message.get("role")
    if not isinstance(role, str) or role not in _FIELDS:
        raise Refused(f"invalid value for a role: {role!r}", f"{where}.role", code="invalid_value")
    _no_more_than(message, _FIELDS[role], where)
    name = message.get("name")
    if name is not None and not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise Refused(f"invalid name {name!r}", f"{where}.name")
    if role == "tool" and not (isinstance(message.get("tool_call_id"), str) and message["tool_call_id"]):
        raise Refused("a tool message needs a 'tool_call_id'", f"{where}.tool_call_id")
    calls = _check_calls(message, where)
    content = message.get("content")
    if content is None and not (role == "assistant" and (calls or message.get("refusal"))):
        raise Refused(f"a message with role {role!r} needs content", f"{where}.content")
    if content is not None and not isinstance(content, str):
        _check_parts(content, f"{where}.content")
    return role


def _check_parts(content: object, where: str) -> None:
    if not isinstance(content, list) or not content:
        raise Refused("content is a text or a list of parts with at least one part", where)
    for place, part in enumerate(content):
        part = _object(part, f"{where}[{place}]")
        kind = part.get("type")
        if not isinstance(kind, str) or kind not in _PARTS or _PARTS[kind] not in part:
            raise Refused(f"invalid part of content: {kind!r}", f"{where}[{place}].type", code="invalid_value")


def _check_calls(message: Json, where: str) -> int:
    """How many tool calls an assistant's message holds."""
    calls = message.get("tool_calls")
    if calls is None:
        return 0
    if not isinstance(calls, list) or not calls:
        raise Refused("'tool_calls' must be a list with at least one call", f"{where}.tool_calls")
    seen: set[str] = set()
    for place, call in enumerate(calls):
        inside = f"{where}.tool_calls[{place}]"
        function = _function_of(call, inside, {"id"})
        name = call.get("id")
        if not isinstance(name, str) or not name or name in seen:
            raise Refused(f"a tool call needs an id of its own, not {name!r}", f"{inside}.id")
        seen.add(name)
        _no_more_than(function, {"name", "arguments"}, f"{inside}.function")
        _tool_name(function, inside)
        if not isinstance(function.get("arguments"), str):
            raise Refused("the arguments of a call are a text", f"{inside}.function.arguments")
    return len(calls)


def _function_of(tool: object, where: str, more: Collection[str] = ()) -> Json:
    tool = _object(tool, where)
    _no_more_than(tool, {"type", "function", *more}, where)
    if tool.get("type") != "function":
        raise Refused(f"invalid type {tool.get('type')!r}", f"{where}.type", code="invalid_value")
    return _object(tool.get("function"), f"{where}.function")


def _tool_name(function: Json, where: str) -> str:
    name = function.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Refused(f"a function's name must match {_NAME.pattern}, not {name!r}", f"{where}.function.name")
    return name


def _object(value: object, where: str) -> Json:
    if isinstance(value, dict):
        return value
    raise Refused(f"{where} must be an object", where, code="invalid_type")


def _no_more_than(value: Json, known: Collection[str], where: str) -> None:
    for name in value:
        if name not in known:
            param = f"{where}.{name}" if where else name
            raise Refused(f"unrecognized argument supplied: {param}", param, code="unknown_parameter")


def _number(low: float, high: float) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _whole(low: int, high: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _is(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


def _stops(value: Any) -> bool:
    stops = [value] if isinstance(value, str) else value
    return isinstance(stops, list) and 1 <= len(stops) <= 4 and all(isinstance(stop, str) for stop in stops)


def _stream_options(value: Any) -> bool:
    known = ("include_usage", "include_obfuscation")
    return isinstance(value, dict) and all(name in known and isinstance(value[name], bool) for name in value)


def _response_format(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if value.get("type") != "json_schema":
        return value.get("type") in ("text", "json_object") and len(value) == 1
    schema = value.get("json_schema")
    return isinstance(schema, dict) and isinstance(schema.get("name"), str) and isinstance(schema.get("schema"), dict)


_VALUES: Final[dict[str, Callable[[Any], bool]]] = {
    "stream": _is(bool),
    "stream_options": _stream_options,
    "temperature": _number(0, 2),
    "top_p": _number(0, 1),
    "n": _whole(1, 1),
    "stop": _stops,
    "max_tokens": _whole(1, 2**31),
    "max_completion_tokens": _whole(1, 2**31),
    "presence_penalty": _number(-2, 2),
    "frequency_penalty": _number(-2, 2),
    "logit_bias": _is(dict),
    "logprobs": _is(bool),
    "top_logprobs": _whole(0, 20),
    "seed": _whole(-(2**63), 2**63 - 1),
    "response_format": _response_format,
    "parallel_tool_calls": _is(bool),
    "reasoning_effort": _EFFORTS.__contains__,
    "verbosity": ("low", "medium", "high").__contains__,
    "metadata": _is(dict),
    "store": _is(bool),
    "service_tier": _is(str),
    "user": _is(str),
    "safety_identifier": _is(str),
    "prompt_cache_key": _is(str),
    "prompt_cache_retention": ("in_memory", "24h").__contains__,
}
"""The optional fields, each with whether a value is one of its own; null is as good as absent."""
