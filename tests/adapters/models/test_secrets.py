"""No key and no password stands in what a person reads, plain or as an address has it."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from pydantic import SecretStr

from goat.adapters.model_openai import OpenAIModel
from goat.adapters.model_openai_failures import retry_after, secrets_of, shown_address
from goat.errors import ModelError
from goat.records.models import ChatMessage, ModelRequest
from goat.settings import ModelEndpoint, ModelSettings
from goat.testing.llm_answers import Answer, error_inside, fails, says

HELLO = ModelRequest((ChatMessage("user", "Hello?"),))


def forms(secret: str) -> set[str]:
    return {secret, quote(secret, safe=""), quote_plus(secret)}


def echo(status: int, key: str) -> Answer:
    words = f"bad key {key} in https://x/?key={quote(key, safe='')}&also={quote_plus(key)}"
    return fails(status, words) if status != 200 else error_inside(words)


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 413, 422, 429, 500, 529])
async def test_a_key_that_an_endpoint_repeats_is_in_no_error_and_no_note(
    chain: Any, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with chain([]) as one:
        one.main.script(*[echo(status, one.key)] * 3)
        with pytest.raises(ModelError) as told:
            await one.ask()
        own = [record.getMessage() for record in caplog.records if record.name.startswith("goat")]
        for text in (str(told.value), repr(told.value), *own):
            assert not [form for form in forms(one.key) if form in text]
    async with chain([], [says("Fine.")]) as one:
        one.main.script(*[echo(status, one.key)] * 3)
        reply = await one.ask()
    assert reply.notes
    assert not [form for form in forms(one.key) for note in reply.notes if form in note]


@pytest.mark.parametrize(
    "base_url",
    ["http://ana:pass%20word@127.0.0.1:1/v1", "http://127.0.0.1:1/v1?api-key=pass%20word"],
    ids=["password", "query"],
)
async def test_a_secret_in_the_address_is_in_no_error(base_url: str) -> None:
    endpoint = ModelEndpoint("other", "m", base_url, SecretStr("k-123"))
    async with OpenAIModel(endpoint, ModelSettings()) as model:
        with pytest.raises(ModelError) as told:
            await model.reply(HELLO)
    assert "127.0.0.1:1/v1" in str(told.value)
    assert "pass" not in str(told.value)


def test_an_address_is_shown_without_name_password_and_query() -> None:
    assert shown_address("https://ana:pw@host:8443/v1?key=x#y") == "https://host:8443/v1"


def test_the_secrets_of_an_endpoint_are_known_in_every_form() -> None:
    endpoint = ModelEndpoint("other", "m", "http://ana:p+w@h/v1", SecretStr("a b/c"))
    assert {"a b/c", "a%20b%2Fc", "a+b%2Fc", "p+w", "p%2Bw"} <= set(secrets_of(endpoint))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Mon, 02 Mar 2026 09:02:00 GMT"}, 120.0),
        ({"retry-after": "Mon, 02 Mar 2026 08:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
    ],
)
def test_a_wish_to_be_left_alone_is_read_as_seconds_or_as_a_date(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, datetime(2026, 3, 2, 9, 0, tzinfo=UTC)) == seconds
