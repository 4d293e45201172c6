"""One call of a tool: its time is limited, and whatever it raises becomes a result."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from goat.errors import GoatError, ToolError
from goat.tools.tool import ToolContext, ToolDefinition

GRACE_SECONDS = 1.0
"""How long a cancelled tool may clean up before it is left behind."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a call gave: the text for the model, and whether the tool succeeded."""

    text: str
    ok: bool = True


async def invoke(tool: ToolDefinition, arguments: Mapping[str, Any], context: ToolContext, seconds: float) -> Done:
    """Call the tool with validated arguments. Never raises, except when this task itself is cancelled."""
    work = asyncio.ensure_future(_contained(tool, arguments, context))
    work.set_name(f"tool:{tool.name}")
    try:
        await asyncio.wait({work}, timeout=tool.timeout_seconds or seconds)
    except asyncio.CancelledError:
        await _stopped(work)
        raise
    if work.done():
        return Done(f"error: {tool.name} was cancelled", False) if work.cancelled() else work.result()
    await _stopped(work)
    limit = tool.timeout_seconds or seconds
    return Done(f"error: {tool.name} gave no result within {limit:g} seconds and was stopped", False)


async def _stopped(work: asyncio.Future[Done]) -> None:
    """Cancel the work; what does not stop is left behind, and its end is awaited by nobody."""
    work.cancel()
    await asyncio.wait({work}, timeout=GRACE_SECONDS)


async def _contained(tool: ToolDefinition, arguments: Mapping[str, Any], context: ToolContext) -> Done:
    try:
        return Done(as_text(await called(tool, arguments, context)))
    except asyncio.CancelledError:
        raise
    except ToolError as failure:
        return Done(f"error: {failure.problem}", False)
    except GoatError as failure:
        return Done(f"error: {failure}", False)
    except BaseException as failure:  # noqa: BLE001 - a tool is foreign code; not even its SystemExit ends GOAT
        return Done(f"error: {tool.name} failed with {type(failure).__name__}: {failure}", False)


def called(tool: ToolDefinition, arguments: Mapping[str, Any], context: ToolContext) -> Awaitable[Any]:
    """The running call of a tool's handler with validated arguments; what it raises is raised."""
    given: dict[str, Any] = {**arguments, **_injected(tool.handler, context)}
    if inspect.iscoroutinefunction(tool.handler):
        result: Awaitable[Any] = tool.handler(**given)
        return result
    return _awaited_twice(tool.handler, given)


async def _awaited_twice(handler: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """The result of a plain function, which runs in a thread; one that gives an awaitable is awaited."""
    result = await asyncio.to_thread(handler, **given)
    return await result if inspect.isawaitable(result) else result


def _injected(handler: Callable[..., Any], context: ToolContext) -> dict[str, Any]:
    """What the handler takes beside its arguments: the context, or the chat's name as `chat_id`."""
    given: dict[str, Any] = {}
    for name, parameter in inspect.signature(handler).parameters.items():
        hint = parameter.annotation
        if hint is ToolContext or hint in {"ToolContext", "tools.ToolContext"} or name == "context":
            given[name] = context
        elif name == "chat_id":
            given[name] = context.chat
    return given


def as_text(value: object) -> str:
    """A tool's result as the model reads it: texts as they are, everything else as JSON.

    Fields of a dataclass that are empty are left out.
    """
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError):
        return str(value)


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        shown = {one.name: getattr(value, one.name) for one in fields(value)}
        return {name: item for name, item in shown.items() if item not in (None, (), [], {}, "")}
    return str(value)
