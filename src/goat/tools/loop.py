"""The one loop in which the model is called. Every effect goes through Steps."""

from __future__ import annotations

from collections.abc import Callable

from goat.ports.models import ChatModel
from goat.ports.run import Steps
from goat.records.models import ModelRequest, Reply


class ToolLoop:
    """Calls the model until it has answered."""

    def __init__(self, model: ChatModel, steps: Steps) -> None:
        self._model = model
        self._steps = steps

    async def run(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        """The model's answer; `on_text` gets it in pieces. Raises `ModelError`."""
        return await self._steps.run("model", lambda: self._model.reply(request, on_text))
