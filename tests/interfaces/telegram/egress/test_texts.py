"""Group B of the field reports, the texts: what stands on the screen after an answer was delivered over HTTP."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from goat.interfaces.telegram.address import Address
from goat.interfaces.telegram.client import Button
from goat.interfaces.telegram.envelope import Envelope
from goat.testing.bot_api import Fault, Person, Screen

UNBALANCED = ["see snake_case and _oops", "**never closed", "`code", "[x](http://a_b", "a*b*c_d"]
LOSSY = ["https://a.b/x_y_z", r"C:\dir\_x", "__init__.py"]
LITERAL = ["use List<String>", "a < b && c > d", "<script>", "&amp;", "<b>x</b>"]


async def shown(desk: Any, to: Person, text: str, envelope: Envelope | None = None) -> Screen:
    """The screen after an answer was delivered."""
    async with desk.egress() as egress:
        await desk.answer(egress, to, text, envelope)
        await desk.delivered(egress)
    return desk.api.screen(to)


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@pytest.mark.parametrize("source", UNBALANCED)
async def test_telegram_b1_unbalanced_markup_is_delivered_as_it_is_in_one_call(
    desk: Any, ana: Person, source: str
) -> None:
    screen = await shown(desk, ana, source)
    assert screen.answers == [source]
    assert [call.status for call in desk.api.calls_of("sendMessage")] == [200]


@pytest.mark.parametrize("source", LOSSY)
async def test_telegram_b2_no_character_of_an_address_or_path_is_lost(desk: Any, ana: Person, source: str) -> None:
    assert (await shown(desk, ana, source)).answers == [source]


@pytest.mark.parametrize("source", LITERAL)
async def test_telegram_b3_html_is_shown_literally(desk: Any, ana: Person, source: str) -> None:
    assert (await shown(desk, ana, source)).answers == [source]


async def test_telegram_b4_file_names_are_code_and_addresses_are_links(desk: Any, ana: Person) -> None:
    screen = await shown(desk, ana, "edit README.md and main.py, run deploy.sh, see https://goat.example.org/x")
    assert screen.last.marked("code") == ["README.md", "main.py", "deploy.sh"]
    assert screen.last.marked("url") == ["https://goat.example.org/x"]


@pytest.mark.parametrize(
    ("source", "messages"),
    [
        ("word " * 2400, 3),
        ("\n\n".join(["A paragraph of some length. " * 12] * 36), 3),
        ("x" * 12_000, 3),
        ("y" * 4097, 2),
    ],
)
async def test_telegram_b5_a_long_text_comes_whole_and_in_order(
    desk: Any, ana: Person, source: str, messages: int
) -> None:
    answers = (await shown(desk, ana, source)).answers
    assert len(answers) == messages
    assert max(map(units, answers)) <= 4096
    assert re.sub(r"\s", "", "".join(answers)) == re.sub(r"\s", "", source)


async def test_telegram_b6_long_code_goes_on_as_code_and_very_long_code_is_a_file(desk: Any, ana: Person) -> None:
    line = "print('a line of code that is not short')\n"
    screen = await shown(desk, ana, f"```python\n{line * 220}```")
    assert len(screen.messages) == 1 + 3  # the person's own, and the code
    assert all([one.language for one in seen.entities] == ["python"] for seen in screen.messages[1:])

    screen = await shown(desk, ana, f"Here it is:\n```python\n{line * 400}```\nDone.")
    said, file, end = screen.messages[-3:]
    assert (said.text, end.text) == ("Here it is:", "Done.")
    assert file.media is not None
    assert file.media.file.name is not None
    assert file.media.file.name.endswith(".py")
    assert file.media.file.content.decode() == line * 400


async def test_telegram_b7_no_emoji_is_cut_and_bold_stays_where_it_is(desk: Any, ana: Person) -> None:
    family = "👨‍👩‍👧‍👦"
    for source in ("👍" * 3000, family * 900):
        answers = (await shown(desk, ana, source)).answers
        assert "".join(answers) == source
        assert all(units(answer) <= 4096 for answer in answers)
        assert not any(answer.startswith("\u200d") or answer.endswith("\u200d") for answer in answers)
        for message in desk.api.screen(ana).messages[1:]:
            ana.deletes(message)
    screen = await shown(desk, ana, "👍👍 **fett 👍** שלום **עולם** é̂ **x**")
    assert screen.last.marked("bold") == ["fett 👍", "עולם", "x"]


async def test_telegram_b8_all_of_150_code_spans_are_shown(desk: Any, ana: Person) -> None:
    screen = await shown(desk, ana, " ".join(f"`c{number}`" for number in range(150)))
    marked = [code for seen in screen.messages[1:] for code in seen.marked("code")]
    assert marked == [f"c{number}" for number in range(150)]


async def test_telegram_b9_signs_that_html_would_expand_fit_one_message(desk: Any, ana: Person) -> None:
    assert (await shown(desk, ana, "&" * 4000)).answers == ["&" * 4000]


@pytest.mark.parametrize("source", ["", "\n\n", "\u200b", "[]()", "```\n```", "> "])
async def test_telegram_b10_an_answer_that_shows_nothing_is_told_so(desk: Any, ana: Person, source: str) -> None:
    screen = await shown(desk, ana, source, Envelope(language="ro"))
    assert screen.answers == ["Răspunsul meu nu conține nimic ce poate fi arătat."]
    assert [call.status for call in desk.api.calls_of("sendMessage")] == [200]


async def test_telegram_b1_formatting_that_is_refused_all_the_same_is_left_out(desk: Any, ana: Person) -> None:
    desk.api.fails("sendMessage", Fault.error(400, "Bad Request: can't parse entities: unsupported entity"))
    screen = await shown(desk, ana, "a **bold** word")
    assert screen.answers == ["a bold word"]
    assert screen.last.marked("bold") == []


async def test_telegram_b23_an_answer_to_a_deleted_message_comes_without_the_quote(desk: Any, ana: Person) -> None:
    question = ana.says("a question that is deleted")
    ana.deletes(question)
    screen = await shown(desk, ana, "the answer", Envelope(reply_to=question.id))
    assert (screen.last.text, screen.last.reply_to) == ("the answer", None)

    desk.api.fails("sendMessage", Fault.error(400, "Bad Request: message to be replied not found"))
    assert (await shown(desk, ana, "another", Envelope(reply_to=question.id))).last.text == "another"


async def test_telegram_b28_addresses_get_no_preview(desk: Any, ana: Person) -> None:
    async with desk.egress() as egress:
        await desk.answer(egress, ana, "https://goat.example.org/login?once=5")
        await egress.say("ana", Address(ana.id), "https://goat.example.org/?all=secrets")
        await desk.delivered(egress)
    sent = desk.api.calls_of("sendMessage")
    assert [call.params["link_preview_options"] for call in sent] == ['{"is_disabled": true}'] * 2


async def test_a_notice_is_shown_as_it_is_written_with_its_buttons(desk: Any, ana: Person) -> None:
    rows = ((Button("Yes", data="1:yes"), Button("No", data="1:no")), (Button("Page", url="https://example.org"),))
    async with desk.egress() as egress:
        await egress.say("ana", Address(ana.id), "*not* bold", Envelope(plain=True, buttons=rows))
        await desk.delivered(egress)
    assert desk.api.screen(ana).last.text == "*not* bold"
    assert desk.api.screen(ana).last.buttons == (("Yes", "No"), ("Page",))


async def test_buttons_stand_below_the_last_part(desk: Any, ana: Person) -> None:
    async with desk.egress() as egress:
        await egress.say("ana", Address(ana.id), "x" * 5000, Envelope(buttons=((Button("Go", data="go"),),)))
        await desk.delivered(egress)
    assert [seen.buttons for seen in desk.api.screen(ana).messages[1:]] == [(), (("Go",),)]


async def test_a_file_comes_behind_its_text(desk: Any, ana: Person, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_bytes(b"{}\n")
    async with desk.egress() as egress:
        await egress.say("ana", Address(ana.id), "All of it:", Envelope(plain=True, file=file))
        await egress.say("ana", Address(ana.id), "Gone:", Envelope(plain=True, file=tmp_path / "missing"))
        await desk.delivered(egress)
    text, document = desk.api.screen(ana).messages[1:]
    assert text.text == "All of it:"
    assert (document.media.file.name, document.media.file.content) == ("memory.jsonl", b"{}\n")
    [(_, reason)] = await desk.outcomes()
    assert reason == "its file cannot be read: No such file or directory"


async def test_telegram_b20_a_long_text_with_a_file_is_no_caption(desk: Any, ana: Person, tmp_path: Path) -> None:
    file = tmp_path / "picture.jpg"
    file.write_bytes(b"\xff\xd8\xff\xe0" + bytes(100))
    text = "a word " * 430
    async with desk.egress() as egress:
        await egress.say("ana", Address(ana.id), text, Envelope(plain=True, file=file))
        await desk.delivered(egress)
    said, sent = desk.api.screen(ana).messages[1:]
    assert (said.text, sent.text) == (text.strip(), "")
    assert sent.media.file.name == "picture.jpg"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("wide.png", b"\x89PNG\r\n\x1a\n" + bytes(8) + (12_000).to_bytes(4, "big") + (300).to_bytes(4, "big")),
        ("heavy.jpg", b"\xff\xd8\xff\xe0" + bytes(15 * 1024 * 1024)),
        ("drawing.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
        ("sticker.webp", b"RIFF\x10\x00\x00\x00WEBPVP8 "),
    ],
)
async def test_telegram_b21_a_picture_of_any_form_and_weight_arrives_as_a_file(
    desk: Any, ana: Person, tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    async with desk.egress() as egress:
        await egress.say("ana", Address(ana.id), "Here:", Envelope(plain=True, file=tmp_path / name))
        await desk.delivered(egress)
    media = desk.api.screen(ana).last.media
    assert (media.kind, media.file.name, len(media.file.content)) == ("document", name, len(content))
    assert await desk.undelivered() == []
