"""Words that look like markup, and more of them than one message holds."""

from __future__ import annotations

from goat.records.models import ModelRequest

MARKED = [
    "see snake_case and _oops",
    "**never closed",
    "`code",
    "a_b_c *d",
    "use List<String> & x < y",
    "C:\\dir\\_x and __init__",
]


async def test_a73_an_answer_with_broken_markup_arrives_whole(bot) -> None:
    ana = bot.api.person("Ana")
    words = iter(MARKED)

    async def answer(_: ModelRequest) -> str:
        return next(words)

    bot.model.answer = answer
    for place in range(len(MARKED)):
        ana.says(f"number {place}")
        await bot.api.answers(ana, place + 1, 60)
        await bot.idle()
    assert bot.api.screen(ana).answers == MARKED
    assert [call.error for call in bot.api.calls if call.status == 400] == []


async def test_f_b68_a_long_answer_arrives_whole_and_typing_is_seen_before_it(bot) -> None:
    ana = bot.api.person("Ana")
    long = "\n\n".join(f"Paragraph {n}: " + "word " * 60 for n in range(40)).strip()

    async def answer(_: ModelRequest) -> str:
        await bot.until(lambda: bot.api.screen(ana).actions)
        return long

    bot.model.answer = answer
    ana.says("tell me everything")
    await bot.until(lambda: bot.model.requests)
    await bot.idle()
    answers = bot.api.screen(ana).answers
    assert len(answers) > 2
    assert "".join("".join(answers).split()) == "".join(long.split())
    assert bot.api.screen(ana).actions[0].action == "typing"


async def test_f_b70_what_a_command_says_is_no_markup(bot) -> None:
    ana = bot.api.person("Ana")
    text = "You are *Goat_x_* with <b>horns</b> & `hooves`"
    ana.says(f"/identity {text}")
    (told,) = await bot.api.answers(ana, 1, 60)
    assert text in told
    assert bot.api.screen(ana).last.marked("bold") == []
