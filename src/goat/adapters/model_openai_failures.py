"""What went wrong with a call to a model's endpoint: its kind, and the sentence for the person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus, urlsplit

from goat.errors import ModelError, ModelFault, in_seconds
from goat.records.usage import Usage
from goat.settings.endpoint import ModelEndpoint
from goat.settings.sections import ModelSettings

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAIError

LONGEST_QUOTE = 200
"""Characters of an endpoint's own words that are shown."""

TOO_LONG = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|too many tokens|(prompt|input|request) is too (long|large)"
    r"|reduce the length|exceeds? .{0,40}(tokens|context)",
    re.IGNORECASE,
)
NO_CREDIT = re.compile(r"insufficient[_ ](quota|balance|credit|funds)|billing|credit balance|no credit", re.IGNORECASE)


class Failures:
    """Makes the errors of one endpoint. No key and no password of an address stands in any of them."""

    def __init__(self, endpoint: ModelEndpoint, settings: ModelSettings) -> None:
        self._endpoint = endpoint
        self._settings = settings
        self._address = shown_address(endpoint.base_url)
        self._secrets = secrets_of(endpoint)

    def error(
        self,
        problem: str,
        remedy: str,
        fault: ModelFault,
        *,
        retry_after: float | None = None,
        usage: Usage | None = None,
        quoted: str = "",
    ) -> ModelError:
        """An error of this model; `quoted` is the part of `problem` that the endpoint said."""
        model = self._endpoint.model
        return ModelError(model, problem, remedy, fault, retry_after=retry_after, usage=usage, quoted=(quoted,))

    def foreign(self, usage: Usage) -> ModelError:
        """The answer is not of the protocol."""
        return self.error(
            f"{self._address} does not answer in OpenAI's chat protocol",
            "Check [model] base_url; it mostly ends in /v1.",
            ModelFault.MALFORMED,
            usage=usage,
        )

    def reported(self, words: str, usage: Usage) -> ModelError:
        """An error stands in the place of an answer."""
        quoted = self.short(words)
        problem = f"the endpoint reported: {quoted}"
        if TOO_LONG.search(words):
            return self._too_long(problem, quoted)
        return self.error(problem, "Try again in a moment.", ModelFault.DOWN, usage=usage, quoted=quoted)

    def broken_off(self, usage: Usage) -> ModelError:
        """The answer ended in the middle."""
        return self.error(f"the answer of {self._address} broke off", "Try again.", ModelFault.CUT, usage=usage)

    def silent(self, seconds: float, begun: bool, usage: Usage) -> ModelError:
        """Nothing came for so many seconds; `begun` says that a part of the answer had come before."""
        setting = "stall_seconds" if begun else "timeout_seconds"
        return self.error(
            f"{self._address} was silent for {in_seconds(seconds)}",
            f"Try again, raise [model] {setting}, or choose a faster model.",
            ModelFault.SILENT,
            usage=usage,
        )

    def overtime(self, usage: Usage) -> ModelError:
        """The call took longer than a call may."""
        return self.error(
            f"the call took longer than {in_seconds(self._settings.call_seconds)}",
            "Ask for less at once, raise [model] call_seconds, or choose a faster model.",
            ModelFault.OVERTIME,
            usage=usage,
        )

    def empty(self, finish: str, thought: bool, usage: Usage) -> ModelError:
        """An answer without words."""
        if finish == "content_filter":
            problem, remedy = "the provider's filter held the answer back", "Say it in other words."
            return self.error(problem, remedy, ModelFault.FILTERED, usage=usage)
        if finish == "length":
            problem = "it used up its answer before the first word"
            remedy = "Raise [model] max_tokens, or choose a model that thinks less."
        elif thought:
            problem = "it thought, but said nothing"
            remedy = "Ask again, or choose a model that thinks less with `goat model use`."
        else:
            problem, remedy = "the answer is empty", "Ask again, or choose another model with `goat model use`."
        return self.error(problem, remedy, ModelFault.EMPTY, usage=usage)

    def of_library(self, error: OpenAIError, begun: bool, usage: Usage) -> ModelError:
        """The translation of what the client library raised."""
        import openai

        match error:
            case openai.APITimeoutError():
                seconds = self._settings.stall_seconds if begun else self._settings.timeout_seconds
                return self.silent(seconds, begun, usage)
            case openai.APIConnectionError():
                cause = self.short(str(error.__cause__ or error))
                fault = ModelFault.CUT if begun else ModelFault.DOWN
                problem = f"the connection to {self._address} failed ({cause})"
                return self.error(problem, self._connection_remedy(), fault, usage=usage)
            case openai.APIStatusError():
                return self._by_status(error)
            case _:
                quoted = self.short(str(error))
                problem = f"the endpoint broke off: {quoted}"
                return self.error(problem, "Try again.", ModelFault.CUT, usage=usage, quoted=quoted)

    def short(self, text: str) -> str:
        """One line of foreign text, without secrets."""
        line = " ".join(text.split())
        for secret in self._secrets:
            line = line.replace(secret, "[key]")
        return line[:LONGEST_QUOTE]

    def _by_status(self, error: APIStatusError) -> ModelError:
        status, words = error.status_code, _said(error)
        quoted = self.short(words)
        key = self._endpoint.key_name or "the key"
        if status in {400, 413, 422} and TOO_LONG.search(f"{error.code} {words}"):
            return self._too_long(_with_status("the prompt is too long for it", status, quoted), quoted)
        if status == 402 or (status in {403, 429} and NO_CREDIT.search(f"{error.code} {words}")):
            fault, problem = ModelFault.UNPAID, "the account has no credit left"
            remedy = "Top it up, or choose another provider."
        elif status in {401, 403}:
            fault, problem = ModelFault.DENIED, "the key was refused"
            remedy = f"Check {key}, or run `goat setup --reconfigure`."
        elif status == 404:
            fault, problem = ModelFault.UNKNOWN, f"{self._address} knows no such model or path"
            remedy = "Check [model] name and base_url; a base_url mostly ends in /v1."
        elif status == 429:
            fault, problem = ModelFault.BUSY, "the provider takes no more calls for now"
            remedy = "Wait a little, or check your plan's limits."
        elif status >= 500 or status in {408, 409, 425}:
            fault, problem, remedy = ModelFault.DOWN, "the endpoint failed", "Try again in a moment."
        else:
            fault, problem = ModelFault.REFUSED, "the request was refused"
            remedy = (
                "Check [model] name, temperature and max_tokens; a smaller [aits] budget_hard_cap makes it shorter."
            )
        wait = retry_after(error.response.headers, datetime.now(UTC))
        return self.error(_with_status(problem, status, quoted), remedy, fault, retry_after=wait, quoted=quoted)

    def _too_long(self, problem: str, quoted: str) -> ModelError:
        return self.error(
            problem,
            "Set [model] context_tokens to what the model takes, or choose one that takes more.",
            ModelFault.TOO_LONG,
            quoted=quoted,
        )

    def _connection_remedy(self) -> str:
        if self._endpoint.provider == "ollama":
            return "Start Ollama (`ollama serve`), or check [model] base_url."
        return "Check [model] base_url and your connection."


def _with_status(problem: str, status: int, words: str) -> str:
    return f"{problem} (HTTP {status}{': ' if words else ''}{words})"


def _said(error: APIStatusError) -> str:
    """The endpoint's own sentence, empty when it sent a web page."""
    body = error.body
    text = str(body.get("message") or body) if isinstance(body, dict) else str(body or "")
    return "" if text.lstrip().startswith("<") else text


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds after which the endpoint wants to be asked again; RFC 9110 allows a number or a date."""
    milliseconds, given = headers.get("retry-after-ms"), headers.get("retry-after")
    try:
        if milliseconds:
            return max(float(milliseconds) / 1000, 0)
        return max(float(given), 0) if given else None
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(given or "")
    except ValueError:
        return None
    return max((moment - now).total_seconds(), 0) if moment.tzinfo else None


def shown_address(base_url: str) -> str:
    """The address without name, password and query, which may hold secrets."""
    parts = urlsplit(base_url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def secrets_of(endpoint: ModelEndpoint) -> tuple[str, ...]:
    """What must not be shown, plain and as it stands in an address, the longest first."""
    parts = urlsplit(endpoint.base_url)
    values = [endpoint.key.get_secret_value(), parts.password or "", parts.query, parts.netloc.rpartition("@")[0]]
    forms = {form for value in values if value for form in (value, quote(value, safe=""), quote_plus(value))}
    return tuple(sorted(forms, key=len, reverse=True))
