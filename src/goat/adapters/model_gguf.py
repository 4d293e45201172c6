"""The port `ChatModel` over a model file on this machine, through llama.cpp (the extra `gguf`)."""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Self

from pydantic import SecretStr

from goat.adapters.model_openai import OpenAIModel
from goat.errors import ModelError, ModelFault
from goat.records.models import ModelRequest, Reply
from goat.settings.endpoint import ModelEndpoint
from goat.settings.sections import ModelSettings

CONTEXT_TOKENS = 16384
"""The context of a model whose settings say nothing; a model that was made for less takes less."""

MAGIC = b"GGUF"
CLOSE_SECONDS = 3.0
REASON = re.compile(r"^[\d.]+ E [^:]*: (?:error loading model: )?(?P<reason>.+)$", re.MULTILINE)

INSTALL = "Install it with: pip install 'goat2[gguf]'"


class GgufModel:
    """A model in a GGUF file. It is loaded at the first call, into a process of its own that ends with this one.

    It answers one call at a time; others wait for their turn. A caller who leaves stops the answer.
    """

    def __init__(self, endpoint: ModelEndpoint, settings: ModelSettings) -> None:
        self._path = Path(endpoint.model).expanduser()
        self._endpoint = replace(endpoint, model=self._path.name)
        self._settings = settings
        self._opening = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._model: OpenAIModel | None = None

    @property
    def name(self) -> str:
        """The name of the file."""
        return self._path.name

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._model is not None:
            await self._model.__aexit__()
            self._model = None
        await self._stop()

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        """Answer the request; with `on_text` the text is streamed to it in pieces. Raises `ModelError`."""
        model = await self._opened()
        reply = await model.reply(request, on_text)
        return replace(reply, model=self.name)

    async def _opened(self) -> OpenAIModel:
        """The model behind its process; a process that has died is started again."""
        async with self._opening:
            if self._process is not None and self._process.returncode is not None:
                await self.__aexit__()
            if self._model is None:
                self._require_file()
                address, key = await self._start()
                endpoint = replace(self._endpoint, base_url=f"{address}/v1", key=SecretStr(key))
                self._model = OpenAIModel(endpoint, self._settings)
            return self._model

    def _require_file(self) -> None:
        try:
            with self._path.open("rb") as file:
                begins = file.read(len(MAGIC))
        except OSError as closed:
            raise self._error(f"{self._path} cannot be read ({closed.strerror})", "Check [model] name.") from closed
        if begins != MAGIC:
            raise self._error(f"{self._path} is no GGUF file", "Name one in [model] name.")

    async def _start(self) -> tuple[str, str]:
        """Load the file; returns the address where it answers, and its key."""
        key = secrets.token_urlsafe(32)
        wanted = {
            "path": str(self._path),
            "context_tokens": self._settings.context_tokens or CONTEXT_TOKENS,
            "threads": spare_cores(),
            "key": key,
        }
        with TemporaryFile() as errors:
            process = await self._spawn(errors)
            try:
                told = await _told(process, wanted)
            except BaseException:
                await self._stop()
                raise
            if "address" in told:
                return told["address"], key
            await self._stop()
            if told.get("missing"):
                raise self._error(f"llama.cpp is not installed ({told['error']})", INSTALL)
            errors.seek(0)
            reason = REASON.search(errors.read().decode("utf-8", "replace"))
            why = reason["reason"] if reason else told.get("error", "its process ended")
            raise self._error(f"{self._path} cannot be loaded ({why})", "Use another file, or a newer goat2[gguf].")

    async def _spawn(self, errors: IO[bytes]) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        command = [sys.executable, "-P", "-m", "goat.adapters.gguf_server"]
        self._process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=errors)
        return self._process

    async def _stop(self) -> None:
        """End the process: it does so by itself when its input ends, and is ended when it does not."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), CLOSE_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()

    def _error(self, problem: str, remedy: str) -> ModelError:
        return ModelError(self.name, problem, remedy, ModelFault.UNREADY)


async def _told(process: asyncio.subprocess.Process, wanted: dict[str, object]) -> dict[str, str]:
    """What the process answers to its order; empty when it ended without an answer."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(wanted).encode() + b"\n")
        await process.stdin.drain()
        line = await process.stdout.readline()
    except ConnectionError:
        line = b""
    told: dict[str, str] = json.loads(line) if line else {}
    return told


def spare_cores() -> int:
    """The cores that this process may use, less one for the rest of GOAT: llama.cpp's threads wait for the slowest."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(cores - 1, 1)
