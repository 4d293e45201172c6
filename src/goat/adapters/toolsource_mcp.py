"""Tools of MCP servers: started as programs, or reached over HTTP; each is kept running beside the conversation."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from goat import __version__
from goat.errors import BackendUnavailable
from goat.records.tools import OfferedTool, SourceState, ToolAnswer
from goat.records.turns import Notice
from goat.settings.section_mcp import McpServer

if TYPE_CHECKING:
    from mcp import Client

MOST_TOOLS = 1000
"""How many tools of one server are read at all."""

CHANGES_SECONDS = 0.2
"""Changes of the list within so long are one change."""

LONGEST_PAUSE = 300.0
STEADY_SECONDS = 60.0
"""A connection that lasted so long counts as sound: the next pause is a short one again."""

STRIKES = 2
"""After so many calls in a row without an answer the server is started anew."""

STOP_SECONDS = 15.0
"""How long a stop waits; the SDK closes the streams, asks the program to end, and kills it with its children."""


class McpToolSource:
    """One server. It is connected in the background; when it ends or cannot be reached, it is tried again, with pauses
    that grow. `pause` waits between two tries.
    """

    def __init__(
        self,
        name: str,
        server: McpServer,
        redact: Callable[[str], str] = str,
        tell: Callable[[Notice], None] = lambda _: None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.name = name
        self.state = SourceState.STARTING
        self.trouble = ""
        self._server = server
        self._redact = redact
        self._tell = tell
        self._pause = pause
        self._offered: tuple[OfferedTool, ...] = ()
        self._client: Client | None = None
        self._settled = asyncio.Event()
        self._broken = asyncio.Event()
        self._changed = asyncio.Event()
        self._strikes = 0
        self._noisy = False
        self._told = ""

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._keep_running(), name=f"mcp:{self.name}")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop()
        await asyncio.wait({self._task}, timeout=STOP_SECONDS)
        self._task.cancel()
        await asyncio.wait({self._task}, timeout=1)

    def stop(self) -> None:
        """Begin to end the server; leaving the context waits for it."""
        if hasattr(self, "_scope"):
            self._scope.cancel()
        else:
            self._task.cancel()

    def offered(self) -> tuple[OfferedTool, ...]:
        """The tools of the newest list."""
        return self._offered

    async def settled(self) -> None:
        """Wait for the first connection or the first failure."""
        await self._settled.wait()

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Call a tool; a refusal of the server is an answer that is not ok."""
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED

        from goat.adapters.toolsource_mcp_wire import answer_of

        if self._client is None:
            raise self._unavailable(f"it does not run ({self.trouble or 'it is still starting'})")
        seconds = self._server.call_seconds
        try:
            async with asyncio.timeout(seconds):
                answer = answer_of(await self._client.call_tool(tool, dict(arguments)))
        except TimeoutError as late:
            self._strike()
            raise self._unavailable(f"{tool} gave no answer within {seconds:g} seconds") from late
        except MCPError as refused:
            if refused.code != CONNECTION_CLOSED:
                return ToolAnswer(self._redact(refused.message), ok=False)
            self._broken.set()
            raise self._unavailable(f"it ended during the call of {tool}; what {tool} did is not known") from refused
        except Exception as failed:  # the SDK lets through whatever breaks in its transports
            self._broken.set()
            raise self._unavailable(f"the call of {tool} failed: {self._reason(failed)}") from failed
        self._strikes = 0
        return answer

    def _strike(self) -> None:
        self._strikes += 1
        if self._strikes >= STRIKES:
            self._strikes = 0
            self._broken.set()

    def _unavailable(self, reason: str) -> BackendUnavailable:
        return BackendUnavailable("the MCP server", self.name, reason)

    async def _keep_running(self) -> None:
        from anyio import CancelScope

        await asyncio.to_thread(importlib.import_module, "goat.adapters.toolsource_mcp_wire")
        now = asyncio.get_running_loop().time
        with CancelScope() as self._scope:
            pauses = _pauses()
            while True:
                began = now()
                why = await self._one_connection()
                self._down(why)
                if now() - began > STEADY_SECONDS:
                    pauses = _pauses()
                await self._pause(next(pauses))
                self.state = SourceState.STARTING

    async def _one_connection(self) -> str:
        """Connect, and stay connected as long as it lasts; why it ended."""
        from anyio import CancelScope, get_cancelled_exc_class

        from goat.adapters.toolsource_mcp_wire import LastWords

        words = LastWords()
        self._broken.clear()
        self._noisy = False
        limit = asyncio.get_running_loop().time() + self._server.start_seconds
        why = "it ended"
        try:
            with CancelScope(deadline=limit) as starting:
                await self._talk(words, starting)
            if starting.cancelled_caught:
                why = f"it did not start within {self._server.start_seconds:g} seconds"
        except get_cancelled_exc_class():
            raise
        except Exception as failed:  # noqa: BLE001 - whatever breaks in a foreign program or in the way to it
            why = self._reason(failed)
        finally:
            self._client = None
        await words.complete()
        said = f"; the last that it said: {words.line}" if words.line else ""
        return self._redact(f"{why}{said}")[:500]

    async def _talk(self, words: Any, starting: Any) -> None:
        """One connection, from its beginning until it breaks."""
        import anyio
        from mcp import Client
        from mcp.types import Implementation

        from goat.adapters.toolsource_mcp_wire import connected

        streams = connected(self._server, words, self._broken.set, self._noise)
        me = Implementation(name="goat", version=__version__)
        async with Client(streams, client_info=me, cache=None, message_handler=self._heard) as client:
            await self._read_list(client)
            starting.deadline = float("inf")
            self._client = client
            self.state, self.trouble, self._told = SourceState.READY, "", ""
            self._settled.set()
            async with anyio.create_task_group() as beside:
                beside.start_soon(self._follow_list, client)
                beside.start_soon(self._listen, client)
                await self._broken.wait()
                beside.cancel_scope.cancel()

    async def _follow_list(self, client: Client) -> None:
        """Read the list of tools anew whenever it has changed."""
        while True:
            await self._changed.wait()
            await asyncio.sleep(CHANGES_SECONDS)
            self._changed.clear()
            await self._read_list(client)

    async def _read_list(self, client: Client) -> None:
        tools: list[OfferedTool] = []
        cursor: str | None = None
        while len(tools) < MOST_TOOLS:
            page = await client.list_tools(cursor=cursor)
            tools += [OfferedTool(one.name, one.description or "", one.input_schema) for one in page.tools]
            if not page.next_cursor or page.next_cursor == cursor:
                break
            cursor = page.next_cursor
        self._offered = tuple(sorted(tools[:MOST_TOOLS], key=lambda one: one.name))

    async def _listen(self, client: Client) -> None:
        """Hear of changes from servers that tell them to subscribers only."""
        from mcp import MCPError
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        try:
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._changed.set()
        except (ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            return  # an older server, which tells everybody, or one that tells nobody

    async def _heard(self, message: object) -> None:
        from mcp.types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self._changed.set()

    def _noise(self) -> None:
        """Something that is no message came. Told once a connection."""
        if not self._noisy:
            self._noisy = True
            told = "it writes to its standard output what is no message of the protocol; such lines are passed over"
            self._tell(Notice(f"MCP server {self.name}", told))

    def _down(self, why: str) -> None:
        """Note the end of a connection; the same reason is told to the person once."""
        self.state, self.trouble = SourceState.DOWN, why
        self._settled.set()
        if why != self._told:
            self._told = why
            self._tell(Notice(f"MCP server {self.name}", f"{why}. It is tried again; GOAT goes on without its tools."))

    def _reason(self, failed: BaseException) -> str:
        from mcp import MCPError

        from goat.adapters.toolsource_mcp_wire import innermost

        inner = innermost(failed)
        if isinstance(inner, MCPError):
            return self._redact(inner.message)[:300]
        if isinstance(inner, FileNotFoundError):
            return f"the program {self._server.command!r} was not found"
        return self._redact(f"{type(inner).__name__}: {inner}".rstrip(": "))[:300]


def _pauses() -> Iterator[float]:
    seconds = 1.0
    while True:
        yield seconds
        seconds = min(2 * seconds, LONGEST_PAUSE)


@asynccontextmanager
async def mcp_sources(
    servers: Mapping[str, McpServer], redact: Callable[[str], str], tell: Callable[[Notice], None]
) -> AsyncIterator[list[McpToolSource]]:
    """The enabled servers, started in the background; all of them are ended together."""
    sources = [McpToolSource(name, one, redact, tell) for name, one in servers.items() if one.enabled]
    async with AsyncExitStack() as stack:
        for source in sources:
            await stack.enter_async_context(source)
        for source in sources:
            stack.callback(partial(McpToolSource.stop, source))
        yield sources
