"""How the model is called and how it acts. These names are what a plugin needs."""

from goat.errors import ToolError
from goat.tools.tool import ToolContext, ToolDefinition, tool

__all__ = ["ToolContext", "ToolDefinition", "ToolError", "tool"]
