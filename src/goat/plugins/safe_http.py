"""GET over HTTP to places in the open internet only.

Each hop resolves its host once, checks every address, and connects to one of those addresses: neither a redirect nor a
DNS answer that changes between check and connection leads into the own network. Size, time and the number of hops are
limited, and a compressed body is unpacked no further than the limit.
"""

from __future__ import annotations

import asyncio
import socket
import zlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urljoin, urlsplit

from goat.errors import ToolError

if TYPE_CHECKING:
    import httpx2

MOST_BYTES = 5 * 1024 * 1024
MOST_HOPS = 5
SECONDS = 30.0
AGENT = "Mozilla/5.0 (compatible; GOAT/2.0; personal assistant)"
NAT64 = IPv6Network("64:ff9b::/96")
REDIRECTS = {301, 302, 303, 307, 308}

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Page:
    """What an address gave: the final URL, the media type without parameters, and the text."""

    url: str
    media_type: str
    text: str
    status: int


async def resolve(host: str, port: int) -> Sequence[str]:
    """All addresses of a host, as the system knows them. Raises `OSError`."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def is_public(address: str) -> bool:
    """Whether an address lies in the open internet, also when an IPv4 address is wrapped in an IPv6 one."""
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        wrapped: list[IPv4Address] = [one for one in (ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())) if one]
        if ip in NAT64:
            wrapped.append(IPv4Address(int(ip) & 0xFFFFFFFF))
        if any(not is_public(str(one)) for one in wrapped):
            return False
        if ip.ipv4_mapped:
            return True
        if ip.is_site_local:
            return False
    return ip.is_global and not ip.is_multicast and not ip.is_unspecified


class Guard:
    """Says where a tool may connect to. `private` are hosts in the own network that the settings allow, as `host:port`.

    Its methods raise `ToolError`.
    """

    def __init__(self, tool: str, private: Collection[str] = (), resolver: Resolve = resolve) -> None:
        self._tool = tool
        self._private = frozenset(private)
        self._resolve = resolver

    def parts(self, url: str) -> SplitResult:
        """The parts of an address of the web."""
        try:
            parts = urlsplit(url.strip())
            usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError as wrong:
            raise ToolError(self._tool, f"{url!r} is no address: {wrong}") from wrong
        if not usable:
            raise ToolError(self._tool, f"{url!r} is no address of the web; only http and https are fetched")
        if parts.username or parts.password:
            raise ToolError(self._tool, "an address with a user name or password is not fetched")
        return parts

    async def address(self, host: str, port: int) -> str:
        """The IP address to connect to for a host: all of its addresses were looked at."""
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError) as unknown:
            raise ToolError(self._tool, f"the host {host!r} is not known") from unknown
        if not addresses:
            raise ToolError(self._tool, f"the host {host!r} is not known")
        if f"{host}:{port}" not in self._private and not all(is_public(one) for one in addresses):
            raise ToolError(self._tool, f"{host!r} lies in a private network; such addresses are not fetched")
        return addresses[0]


class SafeHttp:
    """Fetches pages from where a guard lets it."""

    def __init__(self, tool: str, private: Collection[str] = (), resolver: Resolve = resolve) -> None:
        self._tool = tool
        self._guard = Guard(tool, private, resolver)

    async def get(self, url: str, params: dict[str, str] | None = None) -> Page:
        """The page at an address, redirects followed. Raises `ToolError`."""
        import httpx2

        try:
            async with asyncio.timeout(SECONDS), httpx2.AsyncHTTPTransport(trust_env=False) as transport:
                for _ in range(MOST_HOPS):
                    found = await self._hop(transport, url, params)
                    if isinstance(found, Page):
                        return found
                    url, params = found, None
        except TimeoutError as late:
            raise ToolError(self._tool, f"{_host(url)} did not answer within {SECONDS:g} seconds") from late
        except httpx2.HTTPError as failed:
            raise ToolError(self._tool, f"{_host(url)} cannot be reached: {type(failed).__name__}") from failed
        raise ToolError(self._tool, f"the address redirects more than {MOST_HOPS} times")

    async def _hop(self, transport: httpx2.AsyncHTTPTransport, url: str, params: dict[str, str] | None) -> Page | str:
        """The page, or where it has moved to."""
        import httpx2

        parts = self._guard.parts(url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        address = await self._guard.address(host, port)
        literal = f"[{address}]" if ":" in address else address
        pinned = parts._replace(netloc=f"{literal}:{port}", fragment="").geturl()
        headers = {"Host": parts.netloc.rpartition("@")[2], "User-Agent": AGENT, "Accept-Encoding": "gzip, identity"}
        secure = {"sni_hostname": host} if parts.scheme == "https" else {}
        request = httpx2.Request("GET", pinned, params=params, headers=headers, extensions=secure)
        response = await transport.handle_async_request(request)  # a client would log the address
        try:
            if response.status_code in REDIRECTS and "location" in response.headers:
                return urljoin(url, response.headers["location"])
            data = await self._body(response)
        finally:
            await response.aclose()
        media_type = response.headers.get("content-type", "text/plain").partition(";")[0].strip().lower()
        text = data.decode(response.charset_encoding or "utf-8", errors="replace")
        return Page(url, media_type, text, response.status_code)

    async def _body(self, response: httpx2.Response) -> bytes:
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in {"", "identity", "gzip", "x-gzip"}:
            raise ToolError(self._tool, f"the answer is packed as {encoding!r}, which was not asked for")
        unpack = zlib.decompressobj(zlib.MAX_WBITS | 16) if "gzip" in encoding else None
        data = b""
        async for piece in response.aiter_raw():
            if unpack is None:
                data += piece
            else:
                data += self._unpacked(unpack, piece, MOST_BYTES + 1 - len(data))
            if len(data) > MOST_BYTES:
                raise ToolError(self._tool, f"the answer is larger than {MOST_BYTES // 1024 // 1024} MB")
        return data

    def _unpacked(self, unpack: zlib._Decompress, piece: bytes, most: int) -> bytes:
        try:
            return unpack.decompress(piece, most)
        except zlib.error as broken:
            raise ToolError(self._tool, "the answer is packed wrongly") from broken


def _host(url: str) -> str:
    return urlsplit(url).hostname or url
