"""Settings of the Telegram bot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from goat.settings.section import Names, Section

Count = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0)]


def _person(value: int) -> int:
    if value < 0:
        raise ValueError("must be the id of a person; ids of groups are negative and belong into `groups`")
    return value


def _numbers(value: tuple[str, ...]) -> tuple[str, ...]:
    for one in value:
        if not one.removeprefix("-").isdecimal():
            raise ValueError(f"must hold numeric ids such as 123456789, not {one!r}; names can change hands")
    return value


Ids = Annotated[Names, AfterValidator(_numbers)]


class TelegramSettings(Section):
    """The Telegram bot: who may use it, and how it takes messages in. Its token is `TELEGRAM_BOT_TOKEN`."""

    admin_chat_id: Annotated[int, AfterValidator(_person)] = Field(
        default=0,
        description="The numeric Telegram id of the person who runs GOAT; 0 finds it out by a code at the terminal.",
    )
    guests: Ids = Field(default=(), description="Numeric ids of others who may talk to the bot, each with own memory.")
    groups: Ids = Field(
        default=(), description="Numeric ids of groups in which the bot answers the people that it knows."
    )
    during_turn: Literal["steer", "queue", "interrupt"] = Field(
        default="steer",
        description="A message while an answer is being made: `steer` lets it join, `queue` answers it afterwards, "
        "`interrupt` ends the answer.",
    )
    backlog_hours: Annotated[float, Field(gt=0)] = Field(
        default=6, description="Messages that waited longer than this are answered together, in one reply."
    )
    parallel_turns: Count = Field(default=16, description="How many answers are made at the same time, in all chats.")
    poll_seconds: Annotated[int, Field(ge=1, le=50)] = Field(
        default=30, description="How long one call waits for new messages."
    )
    silence_seconds: Seconds = Field(
        default=120, description="The connection is made anew when no call ended well for this long."
    )
    drain_seconds: Annotated[float, Field(ge=0)] = Field(
        default=10, description="How long a stop waits for answers that are being made; the others go on at the start."
    )
    api_url: str = Field(
        default="https://api.telegram.org", description="The Bot API's address; another one for a server of your own."
    )
    webhook_url: str = Field(
        default="", description="The public HTTPS address that Telegram pushes messages to; empty polls for them."
    )
    webhook_host: str = Field(default="127.0.0.1", description="The address on which the webhook listens.")
    webhook_port: Annotated[int, Field(ge=0, le=65535)] = Field(
        default=8443, description="The port on which the webhook listens."
    )

    def contradictions(self) -> Iterator[str]:
        """A poll ends before its silence is noticed, and pushed messages come encrypted."""
        if self.silence_seconds <= self.poll_seconds:
            yield (
                f"silence_seconds ({self.silence_seconds:g}) must be greater than poll_seconds ({self.poll_seconds})"
            )
        if self.webhook_url and not self.webhook_url.startswith(("https://", "http://127.0.0.1", "http://localhost")):
            yield "webhook_url must begin with https://"
