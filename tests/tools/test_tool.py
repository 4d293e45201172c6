"""A tool is made from a typed function, and its arguments are checked with sentences that a model can act on."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from goat.errors import ToolError
from goat.tools import ToolContext, ToolDefinition, tool
from goat.tools.arguments import parse_arguments
from goat.tools.toolbox import Toolbox


@tool
async def write_note(
    context: ToolContext,
    path: str,
    text: Annotated[str, Field(max_length=20)],
    mode: Literal["overwrite", "append"] = "overwrite",
    copies: int = 1,
    quiet: bool = False,
) -> str:
    """Write a note
    into a file.

    Args:
        path: Where it goes,
            below the workspace.
        copies: How many.

    Returns:
        A sentence.
    """
    return f"{context.chat}:{path}:{text}:{mode}:{copies}:{quiet}"


def test_the_schema_comes_from_hints_and_docstring() -> None:
    spec = write_note.spec
    properties = spec.parameters["properties"]
    assert (spec.name, spec.description) == ("write_note", "Write a note into a file.")
    assert spec.parameters["required"] == ["path", "text"]
    assert properties["path"] == {"type": "string", "description": "Where it goes, below the workspace."}
    assert properties["copies"] == {"type": "integer", "default": 1, "description": "How many."}
    assert properties["mode"]["enum"] == ["overwrite", "append"]
    assert "context" not in properties


def test_a69_missing_arguments_are_named_together() -> None:
    with pytest.raises(ToolError, match=r"missing arguments path, text \(required: path, text\)"):
        write_note.validated({"copies": 2})


def test_f_b48_numbers_and_booleans_that_come_as_text_are_taken_as_such() -> None:
    arguments = write_note.validated({"path": "a", "text": 5, "copies": "3", "quiet": "true"})
    assert (arguments["copies"], arguments["quiet"], arguments["text"]) == (3, True, "5")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"path": "a", "text": "b", "copys": 1}, "no argument 'copys'; did you mean 'copies'"),
        ({"path": "a", "text": "b", "copies": "many"}, "argument 'copies'"),
        ({"path": "a", "text": "b", "mode": "erase"}, "'overwrite' or 'append'"),
        ({"path": "a", "text": "x" * 21}, "at most 20 characters"),
    ],
)
def test_a_wrong_argument_is_named_with_the_way_out(wrong: dict[str, object], told: str) -> None:
    with pytest.raises(ToolError) as refused:
        write_note.validated(wrong)
    assert told in refused.value.problem


def test_a_tool_with_a_schema_of_its_own_is_checked_too() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    counted = ToolDefinition("count", "Counts.", schema, lambda n: n)
    assert counted.validated({"n": 3}) == {"n": 3}
    for wrong in ({}, {"n": "3"}, {"n": True}, {"n": 1, "m": 2}):
        with pytest.raises(ToolError):
            counted.validated(wrong)


def test_what_cannot_become_a_tool_is_refused_with_the_reason() -> None:
    async def bare(a):  # type: ignore[no-untyped-def]
        """About."""

    async def silent(a: int) -> None: ...

    async def many(*a: int) -> None:
        """About."""

    for function, why in ((bare, "needs a type hint"), (silent, "needs a description"), (many, "cannot take")):
        with pytest.raises(ValueError, match=why):
            tool(function)
    with pytest.raises(ValueError, match="no name for a tool"):
        ToolDefinition("two words", "x", {"type": "object"}, silent)


@pytest.mark.parametrize("empty", ["", "  ", "{}", "null", "```json\n{}\n```"])
def test_f_b44_an_empty_argument_text_is_an_empty_object(empty: str) -> None:
    assert parse_arguments("t", empty) == {}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('{"a": 1,}', {"a": 1}),
        ('{"a": [1, 2,], "b": ",}"}', {"a": [1, 2], "b": ",}"}),
        ("{'a': 'it', 'b': True}", {"a": "it", "b": True}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
    ],
)
def test_telegram_d5_what_has_one_reading_only_is_repaired(written: str, meant: dict[str, object]) -> None:
    assert parse_arguments("t", written) == meant


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ('{"path": "a.txt", "content": "abc', "no valid JSON object"),
        ('{"a": 1, "a": 2}', "'a' twice"),
        ("{'a': 1, 'a': 2}", "'a' twice"),
        ('[{"a": 1}]', "not a list"),
        ("7", "not a number"),
        ("rm -rf", "no valid JSON object"),
    ],
)
def test_telegram_d5_everything_else_goes_back_to_the_model(written: str, told: str) -> None:
    with pytest.raises(ToolError) as refused:
        parse_arguments("t", written)
    assert told in refused.value.problem


def test_telegram_d5_a_cut_call_is_told_about_the_output_limit() -> None:
    with pytest.raises(ToolError, match="output limit"):
        parse_arguments("write_file", '{"path": "a.txt", "content": "abc', cut=True)


@given(st.dictionaries(st.text(), st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists)))
def test_valid_json_is_read_as_it_is(value: dict[str, object]) -> None:
    assert parse_arguments("t", json.dumps(value)) == value


@given(st.text(max_size=60))
def test_no_argument_text_breaks_the_reader(text: str) -> None:
    with suppress(ToolError):
        assert isinstance(parse_arguments("t", text), dict)


def _named(name: str, source: str = "") -> ToolDefinition:
    return ToolDefinition(name, "x", {"type": "object"}, lambda: "", source=source)


def test_f_b09_of_two_tools_with_one_name_the_core_one_stays() -> None:
    core, other = _named("read_file"), _named("read_file", "a.py")
    box = Toolbox.of([core], [other, _named("own", "a.py")])
    assert [one.name for one in box] == ["own", "read_file"]
    assert box.find("read_file") is core
    assert [(one.tool, one.source) for one in box.refused] == [("read_file", "a.py")]


def test_o45_names_that_differ_in_case_only_are_one_name() -> None:
    assert len(Toolbox.of([_named("read_file")], [_named("ReadFile")])) == 1


@pytest.mark.parametrize("written", ["read_file", "ReadFile", "functions.read_file", "read-file", "READ_FILE"])
def test_telegram_d6_safe_spellings_of_a_name_are_understood(written: str) -> None:
    found = Toolbox.of([_named("read_file"), _named("write_file")]).find(written)
    assert found is not None
    assert found.name == "read_file"


@pytest.mark.parametrize("written", ["", " ", "read", "file_read", "functions."])
def test_telegram_d6_other_names_are_not_guessed(written: str) -> None:
    assert Toolbox.of([_named("read_file")]).find(written) is None


@pytest.mark.parametrize(
    "written",
    [
        '```json\n{"a": 1, "b": [2]}\n```',
        '```\n{"a": 1, "b": [2]}```',
        '"{\\"a\\": 1, \\"b\\": [2]}"',
        ' {"a": 1, "b": [2],} ',
    ],
    ids=["fenced", "fenced without a language", "encoded twice", "a comma too many"],
)
def test_o47_json_in_a_fence_is_read_once_and_as_what_it_says(written: str) -> None:
    assert parse_arguments("t", written) == {"a": 1, "b": [2]}
