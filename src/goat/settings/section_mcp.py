"""Settings of the MCP servers: one table `[mcp.NAME]` for each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr

from goat.settings.section import Names, Section

PLACEHOLDER = re.compile(r"\$(?:\$|\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
"""`$NAME` or `${NAME}`, which stands for a value of the environment or of `.env`, or `$$` for a plain `$`."""

Seconds = Annotated[float, Field(gt=0)]


class McpServer(Section):
    """A program that offers tools by the Model Context Protocol: one that GOAT starts, or one that it reaches.

    `variables` are the values for the placeholders, secret ones as secrets; they are never written in a file of
    settings.
    """

    command: str = Field(default="", description="The program that is started; it speaks over its standard streams.")
    args: Names = Field(default=(), description="The program's arguments.")
    env: dict[str, str] = Field(default={}, description="Environment variables of the program.")
    url: str = Field(default="", description="The address of a server that runs already (streamable HTTP).")
    headers: dict[str, str] = Field(default={}, description="HTTP headers of each request.")
    enabled: bool = Field(default=True, description="Whether the server is used.")
    tools: Names = Field(default=(), description="The server's tools that are used; empty takes all, up to `most`.")
    most: Annotated[int, Field(gt=0)] = Field(default=40, description="How many tools are used when `tools` is empty.")
    permission: Literal["allow", "ask_once", "ask"] = Field(
        default="ask_once",
        description="`allow` never asks; `ask_once` asks at the first call of a tool, and whenever the turn has read "
        "text from outside; `ask` asks at every call.",
    )
    start_seconds: Seconds = Field(default=30, description="How long the server may take until it has told its tools.")
    call_seconds: Seconds = Field(default=60, description="A call without an answer after this time is given up.")
    variables: dict[str, str | SecretStr] = Field(default={})

    def contradictions(self) -> Iterator[str]:
        """A server is started or reached, not both."""
        if bool(self.command) == bool(self.url):
            yield "needs either a command or a url"
        if self.url and (self.args or self.env):
            yield "args and env belong to a command; a url takes headers"
        if self.command and self.headers:
            yield "headers belong to a url; a command takes env"
        parts = urlsplit(self.url)
        if self.url and (parts.scheme not in {"http", "https"} or not parts.netloc):
            yield "url must be an address such as https://example.com/mcp"

    def filled(self, text: str) -> str:
        """A text of this table with its placeholders replaced. Raises `KeyError` for one without a value."""
        return PLACEHOLDER.sub(lambda found: self._value(found[1] or found[2]), text)

    def _value(self, name: str | None) -> str:
        value = "$" if name is None else self.variables[name]
        return value.get_secret_value() if isinstance(value, SecretStr) else value

    def secrets(self) -> Iterator[str]:
        """The values that no log, prompt or message may show."""
        yield from (one.get_secret_value() for one in self.variables.values() if isinstance(one, SecretStr))


def written_names(server: McpServer) -> Iterator[str]:
    """The names that the placeholders of a table ask for."""
    for text in (server.command, *server.args, *server.env.values(), server.url, *server.headers.values()):
        yield from (found[1] or found[2] for found in PLACEHOLDER.finditer(text) if found[0] != "$$")
