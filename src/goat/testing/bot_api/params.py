"""The parameters of a call, from query, form, JSON or multipart body, read as strictly as Telegram writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.requests import Request

from goat.testing.bot_api.errors import bad_request

_TRUE: Final = ("true", "1", "yes")
_FALSE: Final = ("", "false", "0", "no")


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that came with a call."""

    name: str
    content: bytes
    mime: str | None


@dataclass(frozen=True, slots=True)
class Params:
    """The parameters by name. The readers raise `ApiError` for a value that is not of their kind."""

    values: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, Upload] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """A string; empty when it is not given."""
        value = self.values.get(name, "")
        return value if isinstance(value, str) else json.dumps(value)

    def integer(self, name: str) -> int | None:
        """A whole number; None when it is not given."""
        value = self.values.get(name)
        if value is None or value == "":
            return None
        try:
            return int(str(value))
        except ValueError:
            raise bad_request(f"wrong {name} specified: it must be of type Integer") from None

    def flag(self, name: str) -> bool:
        """Whether it is set."""
        value = str(self.values.get(name, "")).lower()
        if value not in (*_TRUE, *_FALSE):
            raise bad_request(f"wrong {name} specified: it must be of type Boolean")
        return value in _TRUE

    def parsed(self, name: str) -> Any:
        """An object or array, which a form carries as JSON; None when it is not given."""
        value = self.values.get(name)
        if value is None or value == "":
            return None
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError:
            raise bad_request(f"can't parse {name.replace('_', ' ')} JSON object") from None

    def upload(self, name: str) -> Upload | str | None:
        """An uploaded file, or the id of a known one."""
        return self.referred(self.values.get(name)) or self.files.get(name)

    def referred(self, reference: object) -> Upload | str | None:
        """What `attach://name` points to; any other string is an id."""
        if not isinstance(reference, str) or not reference:
            return None
        if reference.startswith("attach://"):
            return self.files.get(reference.removeprefix("attach://"))
        return reference


async def read_params(request: Request) -> Params:
    """The parameters of a request. Raises `ApiError` for a body that cannot be read."""
    values: dict[str, Any] = dict(request.query_params)
    files: dict[str, Upload] = {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "multipart/form-data":
        await request.body()
    if kind == "application/json":
        values |= _json(await request.body())
    elif kind == "application/x-www-form-urlencoded":
        values |= dict(parse_qsl((await request.body()).decode(), keep_blank_values=True))
    elif kind == "multipart/form-data":
        async with request.form(max_files=20, max_part_size=100_000) as form:
            for name, part in form.multi_items():
                if isinstance(part, UploadFile):
                    files[name] = Upload(part.filename or name, await part.read(), part.content_type)
                else:
                    values[name] = part
    return Params(values, files)


def _json(body: bytes) -> dict[str, Any]:
    try:
        read = json.loads(body or b"{}")
    except ValueError:
        read = None
    if not isinstance(read, dict):
        raise bad_request("can't parse request body JSON object")
    return read
