"""How each construct of Markdown looks in a chat."""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import dedent

import pytest
from telegram import Bot, MessageEntity

from goat.interfaces.telegram.inline import linkable
from goat.interfaces.telegram.render import Chunk, plain, render
from goat.testing.bot_api import FakeBotApi, FormattedText

Shown = Callable[[Chunk], FormattedText]


def only(source: str) -> Chunk:
    """The single message of a text, whose indentation in the test is removed."""
    [chunk] = render(dedent(source).strip("\n"))
    return chunk


def marked(chunk: Chunk) -> list[tuple[str, str]]:
    """The type and the characters of each entity."""
    raw = chunk.text.encode("utf-16-le")
    return [
        (one.type, raw[2 * one.offset : 2 * (one.offset + one.length)].decode("utf-16-le")) for one in chunk.entities
    ]


@pytest.mark.parametrize(
    "source",
    [
        "see snake_case and _oops",
        "**never closed",
        "`code",
        "[x](http://a_b",
        "a*b*c_d",
        "2*3*4 = 24",
        "f(*args, **kw)",
    ],
)
def test_telegram_b1_markup_that_does_not_close_stays_as_it_is_written(source: str, shown: Shown) -> None:
    chunk = only(source)
    assert (chunk.text, chunk.entities) == (source, ())
    shown(chunk)


def test_telegram_b1_a_rendered_text_has_no_markup_that_could_be_refused(shown: Shown) -> None:
    chunk = only("**done** with _oops and [x](http://a.b/c_d) `a_b*c`")
    assert chunk.text == "done with _oops and x a_b*c"
    assert marked(chunk) == [("bold", "done"), ("text_link", "x"), ("code", "a_b*c")]
    shown(chunk)


async def test_telegram_b1_a_text_with_unbalanced_markup_is_delivered_in_one_call() -> None:
    source = "**bold** and **never closed, snake_case, `code, [x](http://a_b, a < b"
    chunk = only(source)
    async with FakeBotApi() as api, Bot(api.token, base_url=api.base_url) as bot:
        ana = api.person()
        ana.starts()
        entities = [MessageEntity(one.type, one.offset, one.length, one.url) for one in chunk.entities]
        await bot.send_message(ana.id, chunk.text, entities=entities)

        assert api.screen(ana).answers == [source.replace("**bold**", "bold")]
        assert api.screen(ana).last.marked("bold") == ["bold"]
        assert [call.status for call in api.calls_of("sendMessage")] == [200]


@pytest.mark.parametrize(
    "source",
    [
        "https://a.b/x_y_z",
        "https://a.b/_x_/*y*?z=__1__",
        r"C:\dir\_x",
        r"open C:\a_b\_c_\d.txt now",
        r"\\server\_share_\x",
        "__init__.py",
        "__init__ and __main__",
        "src/_private_/x_.y",
    ],
)
def test_telegram_b2_addresses_paths_and_names_lose_no_character(source: str) -> None:
    assert only(source).text == source


@pytest.mark.parametrize(
    "source",
    ["use List<String>", "a < b && c > d", "<script>alert(1)</script>", "&amp; &#65;", "<b>x</b>", "<!-- x -->"],
)
def test_telegram_b3_html_and_generics_are_shown_literally(source: str, shown: Shown) -> None:
    chunk = only(source)
    assert (chunk.text, chunk.entities) == (source, ())
    shown(chunk)


def test_telegram_b4_file_names_become_code_and_addresses_stay_links(shown: Shown) -> None:
    chunk = only("edit README.md and src/goat/main.py, run deploy.sh; see https://x.org/README.md and docs.rs/serde")
    assert marked(chunk) == [("code", "README.md"), ("code", "src/goat/main.py"), ("code", "deploy.sh")]
    urls = [one for one in shown(chunk).entities if one.type == "url"]
    assert [chunk.text[one.offset : one.end] for one in urls] == ["https://x.org/README.md", "docs.rs/serde"]


def test_telegram_b4_file_names_in_links_and_code_stay_what_they_are() -> None:
    assert marked(only("[README.md](https://x.org/a) `main.py` **x.py**")) == [
        ("text_link", "README.md"),
        ("code", "main.py"),
        ("code", "x.py"),
    ]


@pytest.mark.parametrize(
    "source", ["", "\n\n", "   ", "\u200b", "\u2060\ufeff", "[]()", "```\n```", "> ", "#", "\u2800"]
)
def test_telegram_b10_a_text_that_shows_nothing_makes_no_message(source: str) -> None:
    assert render(source) == ()


def test_emphasis_nests_and_is_cut_as_telegram_cuts_it(shown: Shown) -> None:
    chunk = only("**bold _both_ ~~gone~~** *it*")
    assert chunk.text == "bold both gone it"
    assert [(one.type, one.offset, one.length) for one in chunk.entities] == [
        ("bold", 0, 5),
        ("bold", 5, 5),
        ("italic", 5, 4),
        ("bold", 10, 4),
        ("strikethrough", 10, 4),
        ("italic", 15, 2),
    ]
    assert [(one.type, one.offset, one.length) for one in shown(chunk).entities] == [
        (one.type, one.offset, one.length) for one in chunk.entities
    ]


def test_headings_are_bold_and_keep_the_distance_that_the_author_gave_them() -> None:
    chunk = only("# One\ntext\n\n## Two\n\ntext\n---\nend")
    assert chunk.text == "One\ntext\n\nTwo\n\ntext\n──────────\nend"
    assert marked(chunk) == [("bold", "One"), ("bold", "Two")]


def test_lists_have_bullets_numbers_boxes_and_indentation() -> None:
    chunk = only(
        """
        3. third
           goes on
        4. fourth
           - inner **bold**
             * deepest

           after

        + [ ] open
        + [x] done
        """
    )
    assert chunk.text == dedent(
        """\
        3. third
          goes on
        4. fourth
          • inner bold
            ◦ deepest

          after

        ☐ open
        ☑ done"""
    )
    assert marked(chunk) == [("bold", "bold")]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("1. a\n1. b\n1. c", "1. a\n2. b\n3. c"),
        ("3) a\n2) b\n1) c", "3) a\n2) b\n1) c"),
        ("2024. Good year", "2024. Good year"),
    ],
)
def test_numbers_are_shown_as_they_are_written_unless_they_are_all_the_same(source: str, text: str) -> None:
    assert only(source).text == text


def test_empty_list_items_and_quotes_keep_to_their_lines() -> None:
    assert only("- \n- x\n- >\n- y").text == "• \n• x\n• \n• y"
    assert only("a\n>\nb").text == "a\nb"


def test_a_quote_is_one_entity_and_quotes_in_it_have_a_bar(shown: Shown) -> None:
    chunk = only("> outer **bold**\n>\n> > inner\n> > goes on\n>\n> back\n\nafter")
    assert chunk.text == "outer bold\n\n│ inner\n│ goes on\n\nback\n\nafter"
    assert marked(chunk) == [("blockquote", "outer bold\n\n│ inner\n│ goes on\n\nback"), ("bold", "bold")]
    shown(chunk)


@pytest.mark.parametrize(
    ("info", "language"),
    [("python", "python"), ("c++", "c++"), ("{.py}", "py"), ('js title="a.js"', "js"), ("", None), ("日本", None)],
)
def test_telegram_b6_a_fence_is_code_with_its_language(info: str, language: str | None, shown: Shown) -> None:
    chunk = only(f"see\n```{info}\ndef f():\n\treturn a_b*c\n```\nthere")
    assert chunk.text == "see\ndef f():\n    return a_b*c\nthere"
    assert [(one.type, one.offset, one.length, one.language) for one in chunk.entities] == [("pre", 4, 25, language)]
    shown(chunk)


def test_telegram_b6_fences_may_stay_open_hold_fences_and_stand_in_lists_and_quotes(shown: Shown) -> None:
    assert marked(only("```py\nnever\nclosed")) == [("pre", "never\nclosed")]
    assert marked(only("````md\n```\ninner\n```\n````")) == [("pre", "```\ninner\n```")]
    in_list = only("1. do\n   ```sh\n   ls\n     -l\n   ```\n2. then")
    assert (in_list.text, marked(in_list)) == ("1. do\nls\n  -l\n2. then", [("pre", "ls\n  -l")])
    in_quote = only("> ```sh\n> ls\n> ```\n> after")
    assert marked(in_quote) == [("blockquote", "ls\nafter"), ("pre", "ls")]
    shown(in_quote)


def test_indented_code_keeps_its_indentation() -> None:
    chunk = only("text\n\n        deep\n    less")
    assert (chunk.text, marked(chunk)) == ("text\n\n    deep\nless", [("pre", "    deep\nless")])


@pytest.mark.parametrize("address", ["http://a.b", "https://a.b:8/c?d=e#f", "http://[::1]/x", "tg://user?id=5"])
def test_a_link_to_the_web_is_a_link(address: str, shown: Shown) -> None:
    chunk = only(f"see [the *page*]({address}).")
    assert (chunk.text, chunk.entities[0].url) == ("see the page.", address)
    shown(chunk)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("[mail](mailto:a@b.ro)", "mail (a@b.ro)"),
        ("[local](http://localhost:8000/x)", "local (http://localhost:8000/x)"),
        ("[file](docs/a.md)", "file (docs/a.md)"),
        ("[section](#there)", "section"),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
        ("[x](data:text/html,y)", "[x](data:text/html,y)"),
        ("<a@b.ro> <http://localhost>", "a@b.ro http://localhost"),
        ("![]( docs/a.png )", "docs/a.png"),
        ("[x][1]\n\n[1]: http://a.b", "[x][1]\n\n[1]: http://a.b"),
    ],
)
def test_an_address_that_telegram_does_not_link_is_text(source: str, text: str, shown: Shown) -> None:
    chunk = only(source)
    assert chunk.text == text
    assert {one.type for one in chunk.entities} <= {"code"}
    shown(chunk)


def test_pictures_and_bare_addresses_are_links() -> None:
    chunk = only("![a cat](https://a.b/c.png) ![](https://a.b/d.png) <https://a.b> [www](www.a.b) [`x`](http://c.d)")
    assert chunk.text == "a cat https://a.b/d.png https://a.b www x"
    assert [one.url for one in chunk.entities] == [
        "https://a.b/c.png",
        "https://a.b",
        "https://www.a.b",
        "http://c.d",
    ]


@pytest.mark.parametrize(
    "address", ["", "a", "http://", "http://a b.c", "ftp://a.b", "http://a.b:port/", "http://[::", "javascript:a.b"]
)
def test_what_is_no_web_address_is_not_linkable(address: str) -> None:
    assert linkable(address) is None


def test_a_narrow_table_is_aligned_in_a_monospaced_block(shown: Shown) -> None:
    chunk = only(
        """
        | Name | Age | City |
        |:-----|----:|:----:|
        | Ana | 31 | *Cluj* |
        | Ștefan 👍 | 7 | 東京 |
        """
    )
    assert chunk.text == dedent(
        """\
        Name       Age  City
        ─────────  ───  ────
        Ana         31  Cluj
        Ștefan 👍    7  東京"""
    )
    assert [one.type for one in chunk.entities] == ["pre"]
    shown(chunk)


def test_a_wide_or_linked_table_is_a_list_of_its_rows(shown: Shown) -> None:
    chunk = only(
        """
        | Feature | What it does | Where |
        |---|---|---|
        | **Recall** | finds a memory in `x`<br>quickly | [docs](https://a.b/c) |
        | Forget | removes it everywhere | |
        """
    )
    assert chunk.text == dedent(
        """\
        Feature: Recall
        • What it does: finds a memory in x
          quickly
        • Where: docs

        Feature: Forget
        • What it does: removes it everywhere
        • Where: –"""
    )
    assert marked(chunk) == [
        ("bold", "Feature: Recall"),
        ("code", "x"),
        ("text_link", "docs"),
        ("bold", "Feature: Forget"),
    ]
    shown(chunk)


def test_a_table_with_more_cells_than_its_head_is_shown_as_it_is_written() -> None:
    source = "| A | B |\n|---|---|\n| `a | b` | c |"
    assert (only(source).text, marked(only(source))) == (source, [("pre", source)])


def test_a_table_without_a_head_or_without_rows_keeps_its_cells() -> None:
    assert only("| | |\n|---|---|\n| a | b |").text == "a  b"
    assert only("| a | [b](http://c.d) |\n|---|---|").text == "a\nb"


def test_what_telegram_would_drop_or_move_is_gone_before(shown: Shown) -> None:
    chunk = only("a\r\nb\x00c\u202ed a\u030a x\u030a\u0333 \ud800 \u2028e\tf\n\n`g\th`")
    assert chunk.text == "a\nb cd å x \ufffd \ne f\n\ng h".replace(" \n", "\n")
    shown(chunk)


def test_plain_leaves_everything_as_it_is_written(shown: Shown) -> None:
    source = "# a\n\n**b** `c` [d](http://e.f)"
    assert plain(source) == (Chunk(source),)
    assert only(source).plain() == Chunk("a\n\nb c d")


def test_a_text_that_nests_beyond_all_measure_is_shown_as_it_is_written() -> None:
    source = ">" * 3000 + " deep"
    assert [chunk.text for chunk in render(source)] == [source]


def test_every_word_of_a_deeply_nested_list_is_shown() -> None:
    source = "\n".join("  " * depth + f"- word{depth}" for depth in range(60))
    assert re.findall(r"word\d+", only(source).text) == [f"word{depth}" for depth in range(60)]
