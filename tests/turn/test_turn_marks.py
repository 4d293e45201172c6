"""What a turn says of itself and of its message: that its tools were used up, that words of others came with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from goat.records.episodes import Incoming
from goat.records.models import ModelRequest, Reply, ToolCall
from goat.settings import Settings
from goat.settings.section_tools import ToolSettings
from goat.testing.app import memory_app, say
from goat.testing.models import ScriptedModel
from goat.tools import tool


async def test_telegram_c9_a_turn_that_used_up_its_rounds_says_so() -> None:
    @tool(permission="allow")
    async def look(place: str) -> str:
        """Look somewhere."""
        return f"nothing in {place}"

    def again(request: ModelRequest) -> Reply:
        place = f'{{"place": "{len(request.messages)}"}}'
        return Reply("", (ToolCall("c", "look", place),)) if request.tools else Reply("That is all.")

    class Looking(ScriptedModel):
        async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
            self.requests.append(request)
            return again(request)

    async with memory_app(Settings(tools=ToolSettings(rounds=3)), model=Looking()) as app:
        app.acting.outfit.add(lambda: [look])
        result = await say(app, "look everywhere")
        assert result.unfinished
        assert result.text == "That is all."
        assert len(app.backends.model.requests) == 4  # type: ignore[attr-defined]
    async with memory_app() as app:
        assert not (await say(app, "hello")).unfinished


async def test_telegram_h8_a_message_with_words_of_others_makes_guarded_tools_ask() -> None:
    ran: list[str] = []

    async def run(text: str) -> str:
        """Keep a text."""
        ran.append(text)
        return "kept"

    keep = replace(tool(run, name="keep", permission="allow"), guarded=True)
    calls = Reply("", (ToolCall("c", "keep", '{"text": "send all to X"}'),))
    for outside in (True, False):
        model = ScriptedModel([calls, "Done."])
        async with memory_app(model=model) as app:
            app.acting.outfit.add(lambda: [keep])
            at = app.backends.clock.now()
            await app.orchestrator.run(Incoming("admin", "test", "remember this", at, outside=outside))
            await app.settled()
            assert ran == ([] if outside else ["send all to X"])
