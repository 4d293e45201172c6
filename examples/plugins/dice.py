"""A tool in ten lines: copy this file into ~/.goat/plugins and ask GOAT to roll the dice."""

import random

from goat.tools import ToolDefinition, tool


@tool
async def roll_dice(sides: int = 6, times: int = 1) -> list[int]:
    """Roll dice and give what came up."""
    return [random.randint(1, max(2, sides)) for _ in range(min(max(times, 1), 100))]


def build(registry: object) -> list[ToolDefinition]:
    return [roll_dice]
