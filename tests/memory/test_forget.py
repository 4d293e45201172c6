"""What goes when something is to be forgotten, and what the chat's commands show of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.app import App
from goat.errors import MessageRefused
from goat.interfaces.commands import ChatCommands
from goat.memory.forget import holds, plain
from goat.memory.keys import activation_key, working_key
from goat.records.episodes import Incoming
from goat.testing.app import memory_app, say
from goat.testing.faults import Away
from goat.testing.models import ScriptedModel


def prompt(app: App) -> str:
    model = app.backends.model
    assert isinstance(model, ScriptedModel)
    return "\n".join(message.content for message in model.requests[-1].messages)


async def texts(app: App, owner: str = "admin", chat: str = "test") -> list[str]:
    return [episode.text for episode in await app.backends.journal.recent(owner, chat, 50)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("My PIN is 9152.", "pin is 9152"),
        ("Pisica mea se numește Zmeura", "NUMESTE zmeura"),
        ("> quoted\n> over two lines", "quoted over two lines"),
        ("妹の誕生日は九月", "誕生日"),
        ("ann and bob", "bob"),
    ],
)
def test_words_are_found_whatever_their_case_accents_and_lines(text: str, wanted: str) -> None:
    assert holds(text, plain(wanted))


@pytest.mark.parametrize(("text", "wanted"), [("banana", "ana"), ("19152", "9152"), ("pins", "pin"), ("", "x")])
def test_a_part_of_a_longer_word_is_not_that_word(text: str, wanted: str) -> None:
    assert not holds(text, plain(wanted))


@given(st.text(alphabet="abc .>\n", max_size=12), st.text(alphabet="abc ", max_size=12))
def test_a_text_holds_itself_within_any_other_words(text: str, around: str) -> None:
    if wanted := plain(text):
        assert holds(f"{around} {text} {around}", wanted)


async def test_memory_22_an_answer_that_quotes_a_message_goes_with_it() -> None:
    async with memory_app(model=ScriptedModel(["Noted.", "You said:\n> my locker code is 4711"])) as app:
        told = await say(app, "my locker code is 4711")
        asked = await say(app, "what is my locker code?")
        plan = await app.forgetter.by_ids("admin", [told.question.id])
        assert [episode.id for episode in plan.quoting] == [asked.answer.id]
        done = await app.forgetter.forget(plan)
        assert (done.episodes, done.unfinished) == (2, None)
        assert await texts(app) == ["Noted.", "what is my locker code?"]


async def test_memory_22_nothing_forgotten_stands_in_the_next_prompt() -> None:
    async with memory_app(model=ScriptedModel(["Noted."])) as app:
        told = await say(app, "my locker code is 4711")
        await say(app, "what is my locker code?")
        assert "4711" in prompt(app)
        await app.facts.promote("admin", "locker", "4711", told.question.id)
        await app.forgetter.forget(await app.forgetter.by_ids("admin", [told.question.id]))
        for chat in ("test", "another"):
            await say(app, "what is my locker code, please?", chat=chat)
            assert "4711" not in prompt(app)


async def test_facts_stay_when_only_the_messages_are_to_go() -> None:
    async with memory_app() as app:
        told = await say(app, "I live in Cluj")
        await app.facts.promote("admin", "city", "Cluj", told.question.id)
        plan = await app.forgetter.by_text("admin", "cluj")
        assert [fact.key for fact in plan.values.facts] == ["city"]
        await app.forgetter.forget(plan.without_values())
        assert [fact.value for fact in await app.backends.permanent.facts("admin")] == ["Cluj"]


async def test_forgetting_touches_no_other_owner() -> None:
    async with memory_app() as app:
        await say(app, "my word is falcon")
        await say(app, "my word is falcon", owner="bob")
        await app.forgetter.forget(await app.forgetter.by_text("admin", "falcon"))
        assert "my word is falcon" in await texts(app, "bob")
        of_bob = [episode.id for episode in await app.backends.journal.recent("bob", "test", 9)]
        assert not await app.forgetter.by_ids("admin", of_bob)


async def test_a_text_without_a_word_is_refused() -> None:
    async with memory_app() as app:
        with pytest.raises(MessageRefused, match="no word"):
            await app.forgetter.by_text("admin", " ?! ")


async def test_a_redelivery_of_a_forgotten_message_is_refused_and_not_answered() -> None:
    async with memory_app() as app:
        told = await say(app, "my word is falcon", key="update 1")
        await app.forgetter.forget(await app.forgetter.by_ids("admin", [told.question.id]))
        with pytest.raises(MessageRefused, match="was forgotten"):
            await app.orchestrator.run(
                Incoming("admin", "test", "my word is falcon", app.backends.clock.now(), source="test", key="update 1")
            )
        assert "my word is falcon" not in await texts(app)


async def test_what_a_store_kept_from_being_finished_is_finished_later() -> None:
    async with memory_app() as app:
        told = await say(app, "my word is falcon")
        plan = await app.forgetter.by_ids("admin", [told.question.id])
        forgetter, whole = app.forgetter, app.backends.working
        forgetter._working = Away("WorkingStore")  # type: ignore[assignment]
        done = await forgetter.forget(plan)
        assert done.unfinished is not None
        assert await app.backends.forgetting.unfinished() != []
        forgetter._working = whole
        await forgetter.finish()
        assert await app.backends.forgetting.unfinished() == []
        assert await whole.get(activation_key("admin", "test")) is None
        assert await whole.tail(working_key("admin", "test"), 9) == []


async def test_the_chats_commands_show_why_and_forget_after_a_yes() -> None:
    async with memory_app(model=ScriptedModel(["Noted."])) as app:
        commands = ChatCommands(app, "admin", "test")
        assert await commands.answer("hello /forget") is None
        assert "Nothing was answered yet" in (await commands.answer("/why") or "")
        told = await say(app, "my word is falcon")
        await say(app, "the kettle is loud")
        commands.talk.last = await say(app, "what is my word?")
        why = await commands.answer("/why") or ""
        assert f"{told.question.id}  2026-03-02 09:00  you: my word is falcon" in why
        assert "score" in why
        assert "my word is falcon" in (await commands.answer("/topics") or "")
        assert "First write /forget" in (await commands.answer("/forget yes") or "")
        shown = await commands.answer(f"/forget {told.question.id}") or ""
        assert "my word is falcon" in shown
        assert "my word is falcon" in await texts(app)
        assert "Forgotten for good: 1 message" in (await commands.answer("/FORGET yes") or "")
        assert "my word is falcon" not in await texts(app)
        assert "First write /forget" in (await commands.answer("/forget yes") or "")
        assert "falcon" not in (await commands.answer("/why") or "")
        assert "Nothing in memory matches" in (await commands.answer("/forget falcon") or "")
        assert (await commands.answer("/forget ??") or "").startswith("There is no word")


async def test_the_chats_commands_tell_facts_their_history_and_undo_a_change() -> None:
    async with memory_app() as app:
        commands = ChatCommands(app, "admin", "test")
        await app.facts.promote("admin", "city", "Iași")
        app.backends.clock.move(60)
        await app.facts.promote("admin", "city", "Cluj")
        app.backends.clock.move(60)
        told = await commands.answer("/facts") or ""
        assert told.splitlines()[0].startswith("city: Cluj (since 2026-03-02 09:01)")
        assert told.splitlines()[1].strip().startswith("before: Iași")
        assert "city is “Iași” again" in (await commands.answer("/undo") or "")
        assert "city: Iași" in (await commands.answer("/memory") or "")
        assert len((await commands.answer("/help") or "").splitlines()) == len(commands.table) + 1
