"""How setup talks to a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from goat.errors import GoatError

if TYPE_CHECKING:
    from questionary import Question


class SetupCancelled(GoatError):
    """The person broke setup off."""

    def __init__(self) -> None:
        super().__init__("Setup was broken off; nothing was changed.")


class NobodyToAsk(GoatError):
    """Setup was called without a terminal."""

    def __init__(self) -> None:
        super().__init__(
            "Setup asks its questions in a terminal, and there is none here. Without one, put the key into the "
            "environment or into .env of the data folder, for instance as DEEPSEEK_API_KEY=…, and then run `goat model "
            "use PROVIDER/MODEL`, which writes goat2.toml."
        )


class Choice(NamedTuple):
    """An entry of a list: what it stands for and what is shown."""

    value: str
    title: str


class Prompts(Protocol):
    """Asks a person. Every question raises `SetupCancelled` when the person breaks it off."""

    async def choose(self, question: str, choices: Sequence[Choice], default: str) -> str:
        """One of the choices' values; `default` is marked when it is among them."""
        ...

    async def ask(self, question: str, default: str = "") -> str:
        """A line of text."""
        ...

    async def secret(self, question: str) -> str:
        """A line of text that is not shown."""
        ...

    def say(self, text: str) -> None:
        """Show a sentence."""
        ...


class TerminalPrompts:
    """Asks in the terminal."""

    async def choose(self, question: str, choices: Sequence[Choice], default: str) -> str:
        """Move with the arrow keys, Enter takes."""
        import questionary

        entries = [questionary.Choice(choice.title, value=choice.value) for choice in choices]
        marked = default if default in {choice.value for choice in choices} else None
        return str(await _answer(questionary.select(question, choices=entries, default=marked)))

    async def ask(self, question: str, default: str = "") -> str:
        """The default stands in the line and can be changed."""
        import questionary

        return str(await _answer(questionary.text(question, default=default))).strip()

    async def secret(self, question: str) -> str:
        """Shows stars."""
        import questionary

        return str(await _answer(questionary.password(question))).strip()

    def say(self, text: str) -> None:
        """Print to the terminal."""
        import questionary

        questionary.print(text)


async def _answer(question: Question) -> Any:
    try:
        return await question.unsafe_ask_async()
    except (KeyboardInterrupt, EOFError) as broken_off:
        raise SetupCancelled from broken_off
