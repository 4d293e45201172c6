"""The proxy of the browser: no connection goes into the own network, whatever asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from goat.plugins.guard_proxy import guard_proxy
from goat.plugins.safe_http import Guard
from goat.testing.http_host import HttpHost


async def home(request: Request) -> Response:
    return PlainTextResponse(f"{request.url.path}?{request.url.query} {request.headers.get('proxy-secret', 'none')}")


async def large(request: Request) -> Response:
    return PlainTextResponse("x" * 500_000)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of a local service."""
    host = HttpHost(Starlette(routes=[Route("/home", home), Route("/large", large)]))
    host.start()
    yield host.port
    host.stop()


async def through(proxy: int, *requests: bytes) -> bytes:
    """What a browser gets for some requests on one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy)
    writer.write(b"".join(requests))
    answer = await reader.read()
    writer.close()
    return answer


def get(port: int, path: str = "/home?a=1", host: str = "127.0.0.1") -> bytes:
    return f"GET http://{host}:{port}{path} HTTP/1.1\r\nHost: {host}:{port}\r\nProxy-Secret: s\r\n\r\n".encode()


async def test_a_host_that_the_settings_allow_is_reached_plainly_and_through_a_tunnel(port: int) -> None:
    async with guard_proxy(Guard("browse_page", [f"127.0.0.1:{port}"])) as proxy:
        plain = await through(proxy.port, get(port))
        assert plain.startswith(b"HTTP/1.1 200")
        assert plain.endswith(b"/home?a=1 none")
        inner = f"GET /home HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode()
        tunnelled = await through(proxy.port, f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode(), inner)
        assert tunnelled.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200")
        assert proxy.denied == {}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "[::1]"])
@pytest.mark.parametrize("tunnel", [True, False])
async def test_private_addresses_are_refused_however_they_are_written(port: int, host: str, tunnel: bool) -> None:
    async with guard_proxy(Guard("browse_page")) as proxy:
        request = f"CONNECT {host}:{port} HTTP/1.1\r\n\r\n".encode() if tunnel else get(port, host=host)
        assert (await through(proxy.port, request)).startswith(b"HTTP/1.1 403")
        assert ["private network" in why for why in proxy.denied.values()] == [True]


async def test_the_address_that_was_checked_is_the_one_that_is_used(port: int) -> None:
    asked: list[str] = []

    async def changing(host: str, _: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["203.0.113.1"]

    async with guard_proxy(Guard("browse_page", [f"rebind.example:{port}"], changing)) as proxy:
        assert b"200" in await through(proxy.port, get(port, host="rebind.example"))
        assert asked == ["rebind.example"]


async def test_a_second_request_on_a_connection_goes_nowhere(port: int) -> None:
    async with guard_proxy(Guard("browse_page", [f"127.0.0.1:{port}"])) as proxy:
        answer = await through(proxy.port, get(port), get(port, host="169.254.169.254"))
        assert answer.count(b"HTTP/1.1") == 1


async def test_all_bytes_together_are_limited(port: int) -> None:
    async with guard_proxy(Guard("browse_page", [f"127.0.0.1:{port}"]), most_bytes=200_000) as proxy:
        assert len(await through(proxy.port, get(port, "/large"))) <= 200_000
        assert proxy.exhausted.is_set()


@pytest.mark.parametrize(
    "request_", [b"\r\n\r\n", b"GET\r\n\r\n", b"GET http://[half/ HTTP/1.1\r\n\r\n", b"x" * 100_000]
)
async def test_what_is_no_request_ends_the_connection(request_: bytes) -> None:
    async with guard_proxy(Guard("browse_page")) as proxy:
        with suppress(ConnectionResetError):
            assert await through(proxy.port, request_) == b""


async def test_a_host_that_does_not_answer_is_a_bad_gateway() -> None:
    async with guard_proxy(Guard("browse_page", ["127.0.0.1:1"])) as proxy:
        assert (await through(proxy.port, get(1))).startswith(b"HTTP/1.1 502")


async def test_leaving_breaks_off_what_is_still_open(port: int) -> None:
    async with guard_proxy(Guard("browse_page", [f"127.0.0.1:{port}"])) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode())
        assert b"established" in await reader.readuntil(b"\r\n\r\n")
    with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
        await reader.readexactly(1)
    writer.close()
