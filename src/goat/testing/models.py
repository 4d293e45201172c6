"""A language model that follows a script."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from goat.records.models import ModelRequest, Reply

Answer = str | Reply | Exception | Callable[[ModelRequest], str]


class ScriptedModel:
    """Gives its answers one after another, the last one again and again, and records what it was asked.

    An answer is a text, a whole `Reply`, an exception to raise, or a function of the request.
    """

    def __init__(self, answers: Iterable[Answer] = ("All right.",)) -> None:
        self._answers = list(answers)
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        """What the records show."""
        return "scripted"

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        """The next answer of the script."""
        answer = self._answers[min(len(self.requests), len(self._answers) - 1)]
        self.requests.append(request)
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            answer = answer(request)
        reply = answer if isinstance(answer, Reply) else Reply(answer, model=self.name)
        if on_text is not None:
            on_text(reply.text)
        return reply
