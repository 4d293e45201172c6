from __future__ import annotations

from goat.records.models import ToolCall
from goat.testing.llm_answers import calls, in_pieces, leaks, merged, thinks


def test_the_dsml_leak_is_written_with_two_fullwidth_bars() -> None:
    [delta] = leaks("dsml", "add", {"a": 1, "b": "x"}).deltas
    assert delta["content"] == (
        '<｜｜DSML｜｜tool_calls><｜｜DSML｜｜invoke name="add">'
        '<｜｜DSML｜｜parameter name="a" string="false">1</｜｜DSML｜｜parameter>'
        '<｜｜DSML｜｜parameter name="b" string="true">x</｜｜DSML｜｜parameter>'
        "</｜｜DSML｜｜invoke></｜｜DSML｜｜tool_calls>"
    )


def test_a_text_is_cut_into_parts_that_add_up() -> None:
    assert in_pieces("abcde", 2) == ["ab", "cde"]
    assert len(in_pieces("a" * 17, 5)) == 5
    assert in_pieces("ab", 5) == ["a", "b"]
    assert in_pieces("", 3) == []


def test_deltas_add_up_to_one_message() -> None:
    first, second = ToolCall("c1", "add", '{"a": 1}'), ToolCall("c2", "now", "{}")
    deltas = thinks("hm, well", "Let me see", pieces=3).deltas + calls(first, second, pieces=4).deltas
    message = merged(deltas)
    assert (message["content"], message["reasoning_content"]) == ("Let me see", "hm, well")
    assert [(call["id"], call["function"]) for call in message["tool_calls"]] == [
        ("c1", {"name": "add", "arguments": '{"a": 1}'}),
        ("c2", {"name": "now", "arguments": "{}"}),
    ]
