"""A tool: a typed function that the model may call.

    @tool
    async def add(a: int, b: int) -> int:
        \"\"\"Add two numbers.

        Args:
            a: The first one.
            b: The second one.
        \"\"\"
        return a + b

The name, the description and the JSON Schema come from the function; a parameter annotated with `ToolContext` gets the
context of the call and is not shown to the model.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, overload

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.errors import PydanticUserError

from goat.errors import ToolError, nearest
from goat.ports.run import Clock
from goat.records.models import ToolSpec

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
Permission = Literal["allow", "ask", "ask_once", "deny"]
JSON_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


@dataclass(frozen=True, slots=True)
class ToolContext:
    """For whom a call is made and where it may work: given by GOAT, never by the model.

    `source` names the front door of the turn, `admin` says that the owner runs this GOAT.
    """

    owner: str
    chat: str
    workspace: Path
    clock: Clock
    source: str = ""
    admin: bool = False


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool. `parameters` is a JSON Schema object; `handler` gets the arguments by name, and the context as `context`
    when it takes one. A handler that is no coroutine function runs in a thread.

    `permission` holds for the admin and `guests` for everyone else, unless the settings say otherwise. `parallel` lets
    calls of one batch run at the same time. `outside` marks results that come from other people's texts. `private`
    keeps the results out of the evidence lines. `guarded` has every call asked about once the turn has read text from
    outside, which may have ordered it. `foreign` says that another program described it. `repeatable` lets a result
    stand for the same call for some minutes, as long as nothing of the owner's is written. `risk` looks at the
    arguments and gives the reason why a call must be asked about each time, or an empty text.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    handler: Callable[..., Any]
    permission: Permission = "allow"
    guests: Permission = "deny"
    parallel: bool = True
    outside: bool = False
    private: bool = False
    guarded: bool = False
    repeatable: bool = False
    foreign: bool = False
    timeout_seconds: float | None = None
    risk: Callable[[Mapping[str, Any]], str] | None = None
    source: str = ""
    arguments_model: type[BaseModel] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is no name for a tool; use up to 64 letters, digits, - and _")
        if not self.description.strip():
            raise ValueError(f"the tool {self.name} needs a description: the model chooses by it")
        if not isinstance(self.parameters, Mapping) or self.parameters.get("type") != "object":
            raise ValueError(f"the parameters of {self.name} must be a JSON Schema with type 'object'")
        if not callable(self.handler):
            raise ValueError(f"the handler of {self.name} cannot be called")

    @property
    def spec(self) -> ToolSpec:
        """The tool as the model sees it."""
        return ToolSpec(self.name, self.description, self.parameters)

    def validated(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments in the types of the function. Raises `ToolError` with what the model must change."""
        if self.arguments_model is None:
            return _checked(self.name, self.parameters, arguments)
        try:
            model = self.arguments_model.model_validate(dict(arguments))
        except ValidationError as invalid:
            raise ToolError(self.name, _explained(self.parameters, invalid)) from invalid
        return {name: getattr(model, name) for name in type(model).model_fields}


@overload
def tool(function: Callable[..., Any], /) -> ToolDefinition:
    """As `@tool`."""


@overload
def tool(*, name: str = ..., description: str = ..., **options: Any) -> Callable[[Callable[..., Any]], ToolDefinition]:
    """As `@tool(permission="ask")`."""


def tool(
    function: Callable[..., Any] | None = None, /, *, name: str = "", description: str = "", **options: Any
) -> ToolDefinition | Callable[[Callable[..., Any]], ToolDefinition]:
    """Make a `ToolDefinition` from a typed function; `options` are its further fields.

    Raises `ValueError` when the function lacks a docstring or type hints that make a schema.
    """
    if function is None:
        return lambda found: _defined(found, name, description, options)
    return _defined(function, name, description, options)


def _defined(function: Callable[..., Any], name: str, description: str, options: Mapping[str, Any]) -> ToolDefinition:
    name = name or getattr(function, "__name__", "")
    about, described = _docstring(inspect.getdoc(function) or "")
    hints = _hints(function, name)
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name, inspect.Parameter.empty)
        if hint is ToolContext or parameter.name in {"self", "chat_id"}:
            continue
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY}:
            raise ValueError(f"the tool {name} cannot take {parameter}: each parameter needs a name and a type")
        if hint is inspect.Parameter.empty:
            raise ValueError(f"the parameter {parameter.name!r} of the tool {name} needs a type hint")
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[parameter.name] = (hint, default)
    try:
        model = create_model(
            name or "tool", __config__=ConfigDict(extra="forbid", coerce_numbers_to_str=True), **fields
        )
        schema = _plain_schema(model.model_json_schema())
    except PydanticUserError as refused:
        raise ValueError(f"the tool {name} has a parameter of a type that no JSON can carry: {refused}") from refused
    for parameter_name, text in described.items():
        if parameter_name in schema["properties"]:
            schema["properties"][parameter_name].setdefault("description", text)
    return ToolDefinition(name, description or about, schema, function, arguments_model=model, **options)


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError as unknown:
        raise ValueError(f"a type hint of the tool {name} names something unknown: {unknown}") from unknown


def _docstring(text: str) -> tuple[str, dict[str, str]]:
    """A docstring's description, and the sentences about the arguments in its section `Args:`."""
    about, _, section = text.partition("\nArgs:\n")
    described: dict[str, str] = {}
    last = ""
    for line in section.splitlines():
        if line and not line[0].isspace():
            break
        if found := re.match(r"\s{2,8}(\w+)(?:\s*\([^)]*\))?:\s*(.*)", line):
            last = found[1]
            described[last] = found[2].strip()
        elif last and line.strip():
            described[last] += f" {line.strip()}"
    about = re.split(r"\n(?:Returns|Raises|Yields):\n", about)[0]
    return " ".join(about.split()), described


def _plain_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without the titles that pydantic derives from the names."""
    schema.pop("title", None)
    schema.setdefault("properties", {})
    for one in schema["properties"].values():
        one.pop("title", None)
    return schema


def _explained(schema: Mapping[str, Any], invalid: ValidationError) -> str:
    """One sentence a fault; all missing arguments in the first."""
    known = list(schema.get("properties", {}))
    faults = invalid.errors(include_url=False, include_input=False)
    missing = [str(fault["loc"][0]) for fault in faults if fault["type"] == "missing" and len(fault["loc"]) == 1]
    sentences = [_missing(missing, schema)] if missing else []
    for fault in faults:
        place = ".".join(str(part) for part in fault["loc"])
        if fault["type"] == "extra_forbidden":
            sentences.append(f"there is no argument {place!r}{nearest(place, known)}")
        elif place not in missing:
            sentences.append(f"argument {place!r}: {fault['msg'][:1].lower()}{fault['msg'][1:]}")
    return "; ".join(sentences)


def _missing(names: list[str], schema: Mapping[str, Any]) -> str:
    required = ", ".join(schema.get("required", []))
    return f"missing argument{'s' if len(names) > 1 else ''} {', '.join(names)} (required: {required})"


def _checked(name: str, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a tool whose schema was written by hand: names and plain types are checked."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    faults = []
    if missing := [one for one in schema.get("required", []) if one not in arguments]:
        faults.append(_missing(missing, schema))
    for one, value in arguments.items():
        if one not in properties:
            if properties and schema.get("additionalProperties") is not True:
                faults.append(f"there is no argument {one!r}{nearest(one, list(properties))}")
            continue
        wanted = properties[one].get("type") if isinstance(properties[one], Mapping) else None
        expected = JSON_TYPES.get(wanted) if isinstance(wanted, str) else None
        is_bool = isinstance(value, bool) and wanted in {"integer", "number"}
        if expected is not None and (is_bool or not isinstance(value, expected)):
            faults.append(f"argument {one!r} must be of type {wanted}")
    if faults:
        raise ToolError(name, "; ".join(faults))
    return dict(arguments)
