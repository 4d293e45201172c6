"""A model that gives its earlier answer once more is asked again, and the person never sees the repetition."""

from __future__ import annotations

import pytest

from goat.adapters.steps_plain import PlainSteps
from goat.records.models import ChatMessage, ModelRequest, Usage
from goat.testing.app import memory_app, say
from goat.testing.models import ScriptedModel
from goat.testing.tools import valid
from goat.tools.limits import LoopOutcome
from goat.tools.loop import REPEATED, ToolLoop

LONG = "The library opens at nine and closes at six; on Saturdays it is open until noon, on Sundays it is closed."
OTHER = "The museum is closed on Mondays, and on the other days it opens at ten and closes at five in the evening."


class Talk:
    """A loop with an earlier exchange, and what was shown."""

    def __init__(self, *answers: str) -> None:
        self.model = ScriptedModel(answers)
        self.shown: list[str] = []

    async def ask(self, text: str, *earlier: tuple[str, str]) -> LoopOutcome:
        messages: list[ChatMessage] = []
        for asked, answered in earlier:
            messages += [ChatMessage("user", asked), ChatMessage("assistant", answered)]
        request = ModelRequest((*messages, ChatMessage("user", "Current time: noon"), ChatMessage("user", text)), text)
        return await ToolLoop(self.model, PlainSteps()).run(request, self.shown.append)


async def test_o05_an_answer_that_only_repeats_the_earlier_one_is_asked_for_again() -> None:
    talk = Talk(LONG, OTHER)
    outcome = await talk.ask("And the museum?", ("When does the library open?", LONG))
    assert outcome.reply.text == OTHER
    assert LONG not in "".join(talk.shown)
    assert len(talk.model.requests) == 2
    assert talk.model.requests[1].messages[-1].content == REPEATED
    assert valid(talk.model.requests[1].messages)


async def test_o09_a_repetition_after_tools_of_the_turn_before_is_seen_through_its_evidence() -> None:
    talk = Talk(LONG, OTHER)
    earlier = f"[Tool calls]\ncalled fetch_content({{}}) → [99 characters]\n\n{LONG}"
    assert (await talk.ask("And the museum?", ("When does the library open?", earlier))).reply.text == OTHER


async def test_o05_what_the_model_insists_on_is_given_to_the_person() -> None:
    talk = Talk(LONG, LONG, LONG)
    outcome = await talk.ask("Once more, please.", ("When does the library open?", LONG))
    assert outcome.reply.text == LONG
    assert len(talk.model.requests) == 2


@pytest.mark.parametrize(
    ("text", "answer", "earlier"),
    [
        ("And the museum?", LONG, ()),
        ("And the museum?", OTHER, (("When?", LONG),)),
        ("And the museum?", f"{LONG} And more.", (("When?", LONG),)),
        ("And the museum?", LONG[:90], (("When?", LONG),)),
        ("And you?", "Yes.", (("Are you there?", "Yes."),)),
        ("When?", LONG, (("When?", LONG),)),
        ("And the museum?", LONG, (("When?", LONG), ("Thanks.", OTHER))),
    ],
    ids=["first answer", "another", "longer", "shorter", "a short one", "asked the same again", "of an earlier turn"],
)
async def test_o05_other_answers_are_taken_at_once(
    text: str, answer: str, earlier: tuple[tuple[str, str], ...]
) -> None:
    talk = Talk(answer)
    assert (await talk.ask(text, *earlier)).reply.text == answer
    assert len(talk.model.requests) == 1
    assert "".join(talk.shown) in {answer, ""}, "a last answer that was held back is shown by the front door"


async def test_the_usage_of_the_repetition_counts() -> None:
    from goat.records.models import Reply

    model = ScriptedModel([Reply(LONG, usage=Usage(10, 5)), Reply(OTHER, usage=Usage(20, 7))])
    messages = (ChatMessage("user", "When?"), ChatMessage("assistant", LONG), ChatMessage("user", "And the museum?"))
    outcome = await ToolLoop(model, PlainSteps()).run(ModelRequest(messages))
    assert outcome.reply.usage == Usage(30, 12)


async def test_o05_in_a_whole_turn_the_repetition_is_neither_shown_nor_kept() -> None:
    async with memory_app(model=ScriptedModel([LONG, LONG, OTHER])) as app:
        assert (await say(app, "When does the library open?")).text == LONG
        assert (await say(app, "And the museum?")).text == OTHER
        kept = [episode.text for episode in await app.backends.journal.recent("admin", "test", 10)]
        assert kept.count(LONG) == 1
