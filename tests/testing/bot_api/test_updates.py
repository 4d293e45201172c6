"""Updates wait until they are confirmed, one poller at a time gets them, or a webhook does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from goat.testing.bot_api import FakeBotApi, Person
from goat.testing.bot_api.host import Host
from goat.testing.clock import FakeClock

Call = Callable[..., Coroutine[Any, Any, dict[str, Any]]]


async def texts(call: Call, **params: Any) -> list[str]:
    """What getUpdates delivers, by the text of its messages."""
    return [update["message"]["text"] for update in (await call("getUpdates", **params))["result"]]


async def polled(api: FakeBotApi) -> None:
    """Wait until a call waits for an update."""
    async with asyncio.timeout(30):
        while not api.world.updates.polled:  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.01)


async def test_an_update_comes_again_until_a_higher_offset_confirms_it(call: Call, ana: Person) -> None:
    ana.says("one")
    ana.says("two")
    assert await texts(call) == ["/start", "one", "two"]
    assert await texts(call, offset=1002, limit=1) == ["one"]
    assert await texts(call, offset=1002) == ["one", "two"]
    assert await texts(call, offset=1001) == ["one", "two"]
    assert await texts(call, offset=1004) == []


async def test_a_negative_offset_counts_from_the_end_and_forgets_the_rest(call: Call, ana: Person) -> None:
    ana.says("one")
    ana.says("two")
    assert await texts(call, offset=-1) == ["two"]
    assert await texts(call) == ["two"]


async def test_an_offset_from_another_bot_swallows_everything(call: Call, ana: Person) -> None:
    assert await texts(call, offset=900_000_000) == []
    ana.says("hello?")
    assert await texts(call, offset=900_000_000) == []


async def test_an_offset_that_is_no_number_is_refused(call: Call) -> None:
    body = await call("getUpdates", offset="last")
    assert body["description"] == "Bad Request: wrong offset specified: it must be of type Integer"


async def test_an_update_is_kept_for_a_day(call: Call, ana: Person, clock: FakeClock) -> None:
    clock.move(timedelta(hours=23).total_seconds())
    ana.says("late")
    clock.move(timedelta(hours=2).total_seconds())
    assert await texts(call) == ["late"]


async def test_a_long_poll_ends_with_the_first_update(api: FakeBotApi, call: Call, ana: Person) -> None:
    await texts(call, offset=1002)
    poll = asyncio.create_task(texts(call, offset=1002, timeout=30))
    await polled(api)
    assert not poll.done()
    ana.says("here")
    assert await poll == ["here"]


async def test_an_empty_poll_ends_with_its_timeout(call: Call) -> None:
    assert await texts(call, timeout=1) == []


async def test_the_older_of_two_pollers_gets_a_conflict(api: FakeBotApi, call: Call, ana: Person) -> None:
    await texts(call, offset=1002)
    older = asyncio.create_task(call("getUpdates", timeout=30))
    await polled(api)
    newer = asyncio.create_task(texts(call, timeout=30))

    refused = await older
    assert (refused["error_code"], refused["description"]) == (
        409,
        "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
    )
    ana.says("for the newer")
    assert await newer == ["for the newer"]


async def test_kinds_on_request_come_only_when_they_are_asked_for(call: Call, ana: Person) -> None:
    said = ana.says("hi")
    ana.reacts(said, "👍")
    await call("getUpdates", offset=1003, allowed_updates=["message_reaction"])
    ana.says("not asked for")
    ana.reacts(said, "🎉")

    result = (await call("getUpdates", offset=1003))["result"]
    assert [list(update) for update in result] == [["update_id", "message_reaction"]]
    assert result[0]["message_reaction"]["old_reaction"] == [{"type": "emoji", "emoji": "👍"}]


async def test_any_update_can_be_injected_also_twice(api: FakeBotApi, call: Call) -> None:
    api.inject({"widget_query": {"x": 1}}, update_id=5000)
    api.inject({"widget_query": {"x": 1}}, update_id=5000)
    api.inject({"message": {"unknown": True}})
    assert [update["update_id"] for update in (await call("getUpdates"))["result"]] == [5000, 5000, 5001]


async def test_a_wrong_token_is_unauthorized_and_a_malformed_one_is_not_found(api: FakeBotApi) -> None:
    async with httpx2.AsyncClient() as client:

        async def problem(token: str, method: str = "getMe") -> tuple[int, str]:
            answer = await client.get(f"{api.base_url}{token}/{method}")
            return answer.status_code, answer.json()["description"]

        assert await problem("4242:another-one") == (401, "Unauthorized")
        assert await problem("nonsense") == (404, "Not Found")
        assert await problem(api.token, "getRich") == (404, "Not Found: method not found")
        old = api.token
        api.revoke_token()
        assert await problem(old) == (401, "Unauthorized")


async def test_methods_may_be_called_in_any_case_and_with_any_kind_of_body(api: FakeBotApi, ana: Person) -> None:
    params = {"chat_id": str(ana.id), "text": "hi", "reply_parameters": '{"message_id": 1}'}
    url = f"{api.base_url}{api.token}/SENDMESSAGE"
    async with httpx2.AsyncClient() as client:
        for sent in ({"params": params}, {"data": params}, {"json": params}, {"files": multipart(params)}):
            answer = await client.post(url, **sent)
            assert answer.json()["result"]["reply_to_message"]["message_id"] == 1
    assert api.screen(ana).answers == ["hi"] * 4
    assert [call.params["text"] for call in api.calls_of("sendMessage")] == ["hi"] * 4


def multipart(params: dict[str, str]) -> dict[str, tuple[None, str]]:
    return {name: (None, value) for name, value in params.items()}


async def test_the_menu_of_commands_is_checked_and_kept_by_scope_and_language(api: FakeBotApi, call: Call) -> None:
    def menu(count: int, command: str = "c{}", description: str = "x") -> list[dict[str, str]]:
        return [{"command": command.format(place), "description": description} for place in range(count)]

    async def problem(commands: list[dict[str, str]]) -> str:
        return str((await call("setMyCommands", commands=commands))["description"])

    assert await problem(menu(101)) == "Bad Request: BOT_COMMANDS_TOO_MUCH"
    assert await problem(menu(1, "Big{}")) == "Bad Request: BOT_COMMAND_INVALID"
    assert await problem(menu(1, description="")) == "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID"
    assert (await call("setMyCommands", commands=menu(100), language_code="ro"))["ok"]
    assert len((await call("getMyCommands", language_code="ro"))["result"]) == 100
    assert (await call("getMyCommands"))["result"] == []
    await call("deleteMyCommands", language_code="ro")
    assert (await call("getMyCommands", language_code="ro"))["result"] == []


class Receiver:
    """A bot that takes its updates from a webhook, after as many failures as it is told."""

    def __init__(self) -> None:
        self.seen: list[tuple[str | None, str]] = []
        self.failures = 0
        self.host = Host(Starlette(routes=[Route("/hook", self.take, methods=["POST"])]))

    async def take(self, request: Request) -> Response:
        update = await request.json()
        self.seen.append((request.headers.get("X-Telegram-Bot-Api-Secret-Token"), update["message"]["text"]))
        self.failures -= 1
        return Response(status_code=500 if self.failures >= 0 else 200)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    await receiver.host.start()
    yield receiver
    await receiver.host.stop()


async def test_a_webhook_gets_each_update_with_the_secret_until_it_takes_it(
    api: FakeBotApi, call: Call, ana: Person, receiver: Receiver
) -> None:
    receiver.failures = 1
    url = f"http://127.0.0.1:{receiver.host.port}/hook"
    assert (await call("setWebhook", url=url, secret_token="s3cret"))["ok"]
    ana.says("hi")
    await api.until(lambda: not api.waiting)

    assert receiver.seen == [("s3cret", "/start"), ("s3cret", "/start"), ("s3cret", "hi")]
    info = (await call("getWebhookInfo"))["result"]
    assert (info["url"], info["pending_update_count"]) == (url, 0)
    assert info["last_error_message"] == "Wrong response from the webhook: 500 Internal Server Error"


async def test_polling_and_a_webhook_exclude_each_other(call: Call, ana: Person) -> None:
    await call("setWebhook", url="http://127.0.0.1:9/hook")
    assert (await call("getUpdates"))["description"] == (
        "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
    )
    await call("deleteWebhook")
    assert await texts(call) == ["/start"]
    await call("deleteWebhook", drop_pending_updates=True)
    assert await texts(call) == []


@pytest.mark.parametrize("params", [{"url": "ftp://x"}, {"url": "https://x.y", "secret_token": "a b"}])
async def test_a_webhook_needs_a_web_address_and_a_secret_of_plain_letters(call: Call, params: dict[str, str]) -> None:
    assert (await call("setWebhook", **params))["error_code"] == 400
