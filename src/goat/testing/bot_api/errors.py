"""How Telegram says no: the status, the sentence and the parameters of a failed call."""

from __future__ import annotations

from typing import Any


class ApiError(Exception):
    """A call that is answered with `ok: false`."""

    def __init__(self, code: int, description: str, parameters: dict[str, Any] | None = None) -> None:
        self.code = code
        self.description = description
        self.parameters = parameters
        super().__init__(f"{code} {description}")

    def as_json(self) -> dict[str, Any]:
        """The body of the answer."""
        body: dict[str, Any] = {"ok": False, "error_code": self.code, "description": self.description}
        return {**body, "parameters": self.parameters} if self.parameters else body


def bad_request(problem: str, **parameters: Any) -> ApiError:
    """400: the call asks for something that cannot be."""
    return ApiError(400, f"Bad Request: {problem}", parameters)


def forbidden(problem: str) -> ApiError:
    """403: the bot may not do this here, and asking again does not help."""
    return ApiError(403, f"Forbidden: {problem}")


def conflict(problem: str) -> ApiError:
    """409: somebody else receives this bot's updates."""
    return ApiError(409, f"Conflict: {problem}")


def too_many_requests(retry_after: int) -> ApiError:
    """429: wait for `retry_after` seconds."""
    return ApiError(429, f"Too Many Requests: retry after {retry_after}", {"retry_after": retry_after})


def unauthorized() -> ApiError:
    """401: the token belongs to no bot."""
    return ApiError(401, "Unauthorized")


def not_found() -> ApiError:
    """404: no such method, or no token at all."""
    return ApiError(404, "Not Found")
