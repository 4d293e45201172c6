"""A plugin as a folder: a helper module, the context, errors that the model can act on, a resource that is closed."""

from typing import Annotated

from pydantic import Field

from goat.tools import ToolContext, ToolDefinition, ToolError, tool

from .store import Store

store = Store()


@tool(parallel=False)
async def add_note(context: ToolContext, text: Annotated[str, Field(max_length=500)]) -> str:
    """Keep a short note until GOAT is restarted.

    Args:
        text: What is to be noted.
    """
    return f"note {store.add(context.owner, text)}"


@tool
async def read_note(context: ToolContext, number: int) -> str:
    """Read a note.

    Args:
        number: Its number, from 1.
    """
    found = store.get(context.owner, number)
    if found is None:
        raise ToolError("read_note", f"there is no note {number}; there are {store.count(context.owner)}")
    return found


def build(registry: object) -> list[ToolDefinition]:
    return [add_note, read_note]


def close() -> None:
    """Called once this version is replaced or GOAT stops."""
    store.clear()
