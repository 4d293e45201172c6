"""Web tools: no way into the own network, bounded pages, and a search page of the known shape."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from goat.errors import ToolError
from goat.plugins.safe_http import MOST_BYTES, Page, SafeHttp, is_public, resolve
from goat.plugins.web import DuckDuckGoLite, Hit, fetching, lite_hits, readable
from goat.testing.http_host import HttpHost

LITE = """<html><body><form action="/lite/" method="post"></form><table>
<tr><td>1.&nbsp;</td><td><a rel="nofollow"
 href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fwww.python.org%2F&amp;rut=ab"
 class='result-link'>Welcome to Python</a></td></tr>
<tr><td>&nbsp;</td><td class='result-snippet'>The official <b>home</b> of
 Python.</td></tr>
<tr><td>&nbsp;</td><td><span class='link-text'>www.python.org</span></td></tr>
<tr><td>2.</td><td><a rel="nofollow" href="https://docs.python.org/3/" class='result-link'>Docs</a></td></tr>
<tr><td>Ad</td><td><a href="https://duckduckgo.com/y.js?ad=1" class='result-link'>Buy</a></td></tr>
<tr><td></td><td class='result-snippet'>An advertisement.</td></tr>
<tr><td>3.</td><td><a href="javascript:alert(1)" class='result-link'>Bad</a></td></tr>
</table></body></html>"""

PAGE = """<html><head><title>Goats</title><script>steal()</script></head><body><nav>Menu</nav>
<main><h1>About goats</h1><p>They <b>climb</b> &amp; eat.</p><ul><li>one</li><li>two</li></ul></main>
<footer>Imprint</footer></body></html>"""


async def home(request: Request) -> Response:
    return HTMLResponse(PAGE)


async def hop(request: Request) -> Response:
    return RedirectResponse(request.query_params["to"])


async def lite(request: Request) -> Response:
    return HTMLResponse(LITE if request.query_params.get("q") == "python" else "<html></html>")


async def bomb(request: Request) -> Response:
    packed = gzip.compress(b"\0" * (MOST_BYTES * 20))
    return Response(packed, media_type="text/plain", headers={"content-encoding": "gzip"})


async def packed(request: Request) -> Response:
    return Response(gzip.compress(b"unpacked"), media_type="text/plain", headers={"content-encoding": "gzip"})


async def large(request: Request) -> Response:
    return Response(b"x" * (MOST_BYTES + 1), media_type="text/plain")


async def picture(request: Request) -> Response:
    return Response(b"\x89PNG", media_type="image/png")


ROUTES = [Route(f"/{one.__name__}", one) for one in (home, hop, lite, bomb, packed, large, picture)]


@pytest.fixture(scope="module")
def pages() -> Iterator[str]:
    """The address of local pages, without a slash at its end."""
    host = HttpHost(Starlette(routes=ROUTES))
    host.start()
    yield f"http://127.0.0.1:{host.port}"
    host.stop()


def allowed(url: str) -> SafeHttp:
    """A client that may use this one private address."""
    return SafeHttp("fetch_content", [url.partition("//")[2]])


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.3.4",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1%eth0",
        "fc00::1",
        "fec0::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
    ],
)
def test_telegram_i7_addresses_of_the_own_network_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "::ffff:93.184.216.34"])
def test_addresses_of_the_internet_are(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://0x7f000001/",
        "http://2130706433/",
        "http://127.1/",
        "http://localhost:80/",
        "file:///etc/passwd",
        "gopher://x/",
        "ftp://x/",
        "http:///nothing",
        "http://user:password@example.com/",
        "http://[half",
        "just words",
    ],
)
async def test_f_b50_such_addresses_are_never_fetched(url: str) -> None:
    with pytest.raises(ToolError, match=r"private network|only http|no address|password|not known"):
        await SafeHttp("fetch_content").get(url)


async def test_telegram_i7_a_name_that_leads_home_is_blocked_on_its_address(pages: str) -> None:
    port = int(pages.rpartition(":")[2])

    async def at_home(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    with pytest.raises(ToolError, match="private network"):
        await SafeHttp("fetch_content", resolver=at_home).get(f"http://localtest.example:{port}/home")


async def test_telegram_i7_one_private_address_among_public_ones_is_enough() -> None:
    async def both(host: str, port: int) -> Sequence[str]:
        return ["93.184.216.34", "10.0.0.1"]

    with pytest.raises(ToolError, match="private network"):
        await SafeHttp("fetch_content", resolver=both).get("http://two.example/")


async def test_telegram_i7_the_name_is_resolved_once_and_that_address_is_used(pages: str) -> None:
    asked: list[str] = []
    port = pages.rpartition(":")[2]

    async def changing(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["203.0.113.1"]

    page = await SafeHttp("fetch_content", [f"rebind.example:{port}"], changing).get(
        f"http://rebind.example:{port}/home"
    )
    assert (page.status, asked) == (200, ["rebind.example"])


async def test_telegram_i7_a_redirect_into_the_own_network_is_blocked(pages: str) -> None:
    other = "http://127.0.0.1:1/secret"
    with pytest.raises(ToolError, match="private network"):
        await allowed(pages).get(f"{pages}/hop?to={other}")
    with pytest.raises(ToolError, match="only http and https"):
        await allowed(pages).get(f"{pages}/hop?to=file:///etc/passwd")


async def test_redirects_are_followed_and_counted(pages: str) -> None:
    assert (await allowed(pages).get(f"{pages}/hop?to=/home")).url == f"{pages}/home"
    with pytest.raises(ToolError, match="redirects more than"):
        await allowed(pages).get(f"{pages}/hop?to=/hop?to=/hop?to=/hop?to=/hop?to=/hop?to=/hop?to=/hop")


@pytest.mark.parametrize("name", ["bomb", "large"])
async def test_telegram_i7_what_is_too_large_is_not_read_to_its_end(pages: str, name: str) -> None:
    with pytest.raises(ToolError, match="larger than 5 MB"):
        await allowed(pages).get(f"{pages}/{name}")


async def test_a_packed_page_is_unpacked(pages: str) -> None:
    assert (await allowed(pages).get(f"{pages}/packed")).text == "unpacked"


async def test_the_tool_gives_the_text_of_a_page_without_menus_and_scripts(pages: str) -> None:
    fetch = fetching(allowed(pages))
    text = await fetch.handler(url=f"{pages}/home", max_chars=8000)
    assert text == f"{pages}/home\n\n# Goats\n\n# About goats\n\nThey **climb** & eat.\n\n- one\n- two"
    assert fetch.outside
    with pytest.raises(ToolError, match="HTTP 404"):
        await fetch.handler(url=f"{pages}/missing", max_chars=8000)
    with pytest.raises(ToolError, match="no text"):
        await fetch.handler(url=f"{pages}/picture", max_chars=8000)


def test_plain_texts_stay_as_they_are() -> None:
    assert readable(Page("u", "application/json", '{"a": 1}', 200)) == '{"a": 1}'


def test_the_results_of_the_search_page_are_read() -> None:
    assert lite_hits(LITE) == [
        Hit("Welcome to Python", "https://www.python.org/", "The official home of Python."),
        Hit("Docs", "https://docs.python.org/3/", ""),
    ]
    assert lite_hits("<html><p>changed</p>") == []


async def test_the_search_asks_its_page(pages: str) -> None:
    provider = DuckDuckGoLite(allowed(pages), f"{pages}/lite")
    assert [hit.title for hit in await provider.search("python")] == ["Welcome to Python", "Docs"]
    assert await provider.search("nothing") == []


async def test_the_system_resolves_odd_spellings_to_what_they_are() -> None:
    assert "127.0.0.1" in await resolve("127.0.0.1", 80)


async def test_a79_fetching_says_nothing_on_the_screen_or_above_debug(
    pages: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    await fetching(allowed(pages)).handler(url=f"{pages}/home", max_chars=8000)
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []
