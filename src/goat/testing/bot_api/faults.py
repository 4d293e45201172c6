"""What can go wrong with a call, before or after it took effect, and the plan of when it does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Self

from goat.testing.bot_api.errors import ApiError, too_many_requests

Way = Literal["answer", "hang", "drop", "reset", "cut", "trickle", "pass"]

EVERY_METHOD: Final = "*"


@dataclass(frozen=True, slots=True)
class Fault:
    """One way for a call to go wrong. By default nothing of the call takes effect; see `after_effect`.

    `delay` seconds pass first, whatever the way.
    """

    way: Way
    status: int = 200
    body: bytes = b""
    delay: float = 0.0
    late: bool = False

    @classmethod
    def error(cls, code: int, description: str, parameters: Mapping[str, Any] | None = None) -> Self:
        """An answer in Telegram's form with `ok: false`."""
        refused = ApiError(code, description, dict(parameters or {}))
        return cls("answer", code, json.dumps(refused.as_json()).encode())

    @classmethod
    def too_many(cls, retry_after: int) -> Self:
        """429 with the seconds to wait."""
        refused = too_many_requests(retry_after)
        return cls("answer", refused.code, json.dumps(refused.as_json()).encode())

    @classmethod
    def page(cls, status: int, body: str = "<html><body>Bad Gateway</body></html>") -> Self:
        """An answer that is no JSON, as a proxy gives it."""
        return cls("answer", status, body.encode())

    @classmethod
    def hang(cls) -> Self:
        """The connection stands and nothing ever comes."""
        return cls("hang")

    @classmethod
    def drop(cls) -> Self:
        """The connection is closed without an answer."""
        return cls("drop")

    @classmethod
    def reset(cls) -> Self:
        """The connection is reset."""
        return cls("reset")

    @classmethod
    def cut_short(cls) -> Self:
        """The call takes effect and its answer ends in the middle of the JSON."""
        return cls("cut", late=True)

    @classmethod
    def trickle(cls, seconds_a_byte: float) -> Self:
        """The call takes effect and its answer comes byte by byte."""
        return cls("trickle", delay=seconds_a_byte, late=True)

    @classmethod
    def slow(cls, seconds: float) -> Self:
        """The call is done properly after a while, even if nobody waits for it any more.

        With `after_effect` it is done at once, and only the answer takes a while.
        """
        return cls("pass", delay=seconds)

    def after_effect(self) -> Self:
        """The same, but the call takes effect first: the message stands in the chat."""
        return replace(self, late=True)


@dataclass(slots=True)
class Planned:
    """A fault that waits for its calls."""

    method: str
    fault: Fault
    skip: int
    left: int | None
    chat: int | None

    def meets(self, method: str, chat: object) -> bool:
        """Count a call in; whether it goes wrong."""
        if self.method not in (EVERY_METHOD, method) or (self.chat is not None and str(chat) != str(self.chat)):
            return False
        if self.skip:
            self.skip -= 1
            return False
        if self.left is None:
            return True
        self.left -= 1
        return self.left >= 0


class FaultPlan:
    """The faults that are still to come."""

    def __init__(self) -> None:
        self._planned: list[Planned] = []

    def add(self, planned: Planned) -> None:
        """Plan one more; of several that fit a call the one planned first strikes."""
        self._planned.append(planned)

    def clear(self) -> None:
        """From now on all goes well."""
        self._planned.clear()

    def strike(self, method: str, chat: object) -> Fault | None:
        """The fault of this call, if it has one."""
        for planned in self._planned:
            if planned.left != 0 and planned.meets(method, chat):
                return planned.fault
        return None
