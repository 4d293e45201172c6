from __future__ import annotations

from typing import Any

import pytest

from goat.records.models import ToolCall
from goat.testing.llm_checks import Refused, check_request

HI: Any = [{"role": "user", "content": "Hi"}]
ADD = ToolCall("call_1", "add", '{"a": 1, "b": 2}')


def tool(name: str = "add", **fields: Any) -> Any:
    parameters = {"type": "object", "properties": {"a": {"type": "number"}}}
    return {"type": "function", "function": {"name": name, "description": "Adds", "parameters": parameters, **fields}}


def check(**fields: Any) -> None:
    check_request({"model": "m", "messages": HI, **fields}, ["m"], ["own_field"])


def assistant(*asked: ToolCall, **fields: Any) -> Any:
    listed = [{"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in asked]
    return {"role": "assistant", "content": None, **({"tool_calls": listed} if asked else {}), **fields}


def answer(name: str = "call_1", **fields: Any) -> Any:
    return {"role": "tool", "tool_call_id": name, "content": "3", **fields}


TWO = (ADD, ToolCall("call_2", "add", "{}"))
GOOD: list[dict[str, Any]] = [
    {"messages": [*HI, assistant(*TWO), answer("call_2"), answer("call_1"), *HI]},
    {
        "messages": [
            {"role": "system", "content": "x"},
            {"role": "developer", "content": [{"type": "text", "text": "y"}]},
        ]
    },
    {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}], "name": "ana"}]},
    {"messages": [assistant(content="", refusal=None), *HI]},
    {"tools": [tool(), tool("other")], "tool_choice": "auto", "parallel_tool_calls": True},
    {"tools": [tool()], "tool_choice": {"type": "function", "function": {"name": "add"}}},
    {"tools": [{"type": "function", "function": {"name": "bare"}}]},
    {"temperature": 0, "top_p": 1, "seed": 7, "stop": ["a"], "max_completion_tokens": 5, "reasoning_effort": "low"},
    {"temperature": None, "tools": None, "stream": False},
    {"own_field": 1},
    {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}},
]


@pytest.mark.parametrize("fields", GOOD)
def test_what_the_protocol_allows_is_taken(fields: dict[str, Any]) -> None:
    check(**fields)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"model": ""}, "model"),
    ({"messages": []}, "messages"),
    ({"messages": ["Hi"]}, "messages[0]"),
    ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": "function", "content": "x", "name": "f"}]}, "messages[0].role"),
    ({"messages": [{"role": "user", "content": None}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": []}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": [{"type": "picture"}]}]}, "messages[0].content[0].type"),
    ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": "x", "name": "Ana Pop"}]}, "messages[0].name"),
    ({"messages": [{"role": "user", "content": "x", "at": 1}]}, "messages[0].at"),
    ({"messages": [*HI, assistant(content="x", reasoning_content="y")]}, "messages[1].reasoning_content"),
    ({"messages": [*HI, assistant()]}, "messages[1].content"),
    ({"messages": [*HI, assistant(tool_calls=[])]}, "messages[1].tool_calls"),
    ({"messages": [*HI, answer()]}, "messages[1].role"),
    ({"messages": [*HI, assistant(ADD)]}, "messages"),
    ({"messages": [*HI, assistant(ADD), *HI]}, "messages[2]"),
    ({"messages": [*HI, assistant(*TWO), answer(), *HI]}, "messages[3]"),
    ({"messages": [*HI, assistant(ADD), answer("other")]}, "messages[2].tool_call_id"),
    ({"messages": [*HI, assistant(ADD), answer(), answer()]}, "messages[3].tool_call_id"),
    ({"messages": [*HI, assistant(ADD), answer(tool_call_id="")]}, "messages[2].tool_call_id"),
    ({"messages": [*HI, assistant(ADD), answer(content=None)]}, "messages[2].content"),
    ({"messages": [*HI, assistant(ADD, ADD), answer()]}, "messages[1].tool_calls[1].id"),
    ({"messages": [*HI, assistant(ToolCall("c", "", "{}")), answer("c")]}, "messages[1].tool_calls[0].function.name"),
    ({"tools": []}, "tools"),
    ({"tools": [tool(), tool("other"), tool()]}, "tools[2].function.name"),
    ({"tools": [tool("functions.add")]}, "tools[0].function.name"),
    ({"tools": [tool("a" * 65)]}, "tools[0].function.name"),
    ({"tools": [{"name": "add"}]}, "tools[0].name"),
    ({"tools": [tool(parameters={"properties": {}})]}, "tools[0].function.parameters"),
    ({"tools": [tool(risk="high")]}, "tools[0].function.risk"),
    ({"tool_choice": "auto"}, "tool_choice"),
    ({"tools": [tool()], "tool_choice": "maybe"}, "tool_choice"),
    ({"tools": [tool()], "tool_choice": {"type": "function", "function": {"name": "gone"}}}, "tool_choice"),
    ({"parallel_tool_calls": True}, "parallel_tool_calls"),
    ({"stream_options": {"include_usage": True}}, "stream_options"),
    ({"stream": True, "stream_options": {"usage": True}}, "stream_options"),
    ({"max_tokens": 1, "max_completion_tokens": 1}, "max_tokens"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"temperature": 2.5}, "temperature"),
    ({"temperature": True}, "temperature"),
    ({"n": 2}, "n"),
    ({"stop": list("abcde")}, "stop"),
    ({"response_format": {"type": "json"}}, "response_format"),
    ({"thinking": {"type": "disabled"}}, "thinking"),
    ({"stream": "yes"}, "stream"),
    ({"tools": [tool(description=5)]}, "tools[0].function.description"),
    ({"tools": ["add"]}, "tools[0]"),
    ({"tools": [{"type": "custom", "function": {}}]}, "tools[0].type"),
]


@pytest.mark.parametrize(("fields", "param"), BAD)
def test_what_the_protocol_forbids_is_refused_by_name(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(Refused) as caught:
        check(**fields)
    assert (caught.value.param, caught.value.status, caught.value.kind) == (param, 400, "invalid_request_error")


def test_a_model_that_is_not_there_is_not_found() -> None:
    with pytest.raises(Refused, match="the model 'gone' does not exist") as caught:
        check(model="gone")
    assert (caught.value.status, caught.value.code) == (404, "model_not_found")


@pytest.mark.parametrize("body", [None, [], "text", 5])
def test_a_body_that_is_no_object_is_refused(body: object) -> None:
    with pytest.raises(Refused, match="the body must be an object"):
        check_request(body, ["m"], [])
