"""The parts of an update that GOAT reads, in the Bot API's own names.

Everything else is passed over, so a field or kind that a newer Bot API brings changes nothing. A part that only adds to
a message, such as what it replies to, counts as absent where it has another form than expected.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

T = TypeVar("T")


def _absent_if_unreadable(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    try:
        return read(value)
    except ValidationError:
        return None


Addition = Annotated[T | None, WrapValidator(_absent_if_unreadable)]


class Wire(BaseModel):
    """A part of the Bot API."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class WireUser(Wire):
    """A person or a bot."""

    id: int
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str = ""
    language_code: str = ""

    @property
    def name(self) -> str:
        """The name as it is shown."""
        return f"{self.first_name} {self.last_name}".strip() or self.username or str(self.id)


class WireChat(Wire):
    """A private chat, group, supergroup or channel."""

    id: int
    type: str
    title: str = ""
    first_name: str = ""
    username: str = ""


class WireEntity(Wire):
    """A marked range of a text; `offset` and `length` count UTF-16 code units."""

    type: str
    offset: int
    length: int
    url: str = ""
    user: Addition[WireUser] = None


class WireFile(Wire):
    """A file of any kind. Of a photo there are several, the largest last."""

    file_id: str
    file_name: str = ""
    mime_type: str = ""
    file_size: int | None = None
    duration: int | None = None


class WireQuote(Wire):
    """The part of a message that an answer quotes."""

    text: str


class WireOrigin(Wire):
    """Where a message comes from that was forwarded, or answered from another chat."""

    type: str
    sender_user: Addition[WireUser] = None
    sender_user_name: str = ""
    sender_chat: Addition[WireChat] = None
    chat: Addition[WireChat] = None

    @property
    def name(self) -> str:
        """Who said it first."""
        if self.sender_user is not None:
            return self.sender_user.name
        chat = self.sender_chat or self.chat
        return (chat.title if chat is not None else "") or self.sender_user_name or "somebody"


class WireExternal(Wire):
    """The message of another chat that this one answers."""

    origin: WireOrigin


class WireLocation(Wire):
    """A place on the map, in degrees."""

    latitude: float
    longitude: float


class WireVenue(Wire):
    """A named place."""

    title: str
    address: str = ""
    location: WireLocation


class WireContact(Wire):
    """Somebody's card."""

    phone_number: str
    first_name: str
    last_name: str = ""


class WireOption(Wire):
    """One answer of a poll."""

    text: str


class WirePoll(Wire):
    """A poll."""

    question: str
    options: list[WireOption] = Field(default_factory=list)


class WireDice(Wire):
    """A random value under an emoji."""

    emoji: str
    value: int


class WireMessage(Wire):
    """A message as it stands in an update."""

    message_id: int
    date: Annotated[int, Field(ge=0, lt=253_402_300_800)]
    chat: WireChat
    sender: Addition[WireUser] = Field(default=None, alias="from")
    sender_chat: Addition[WireChat] = None
    via_bot: Addition[WireUser] = None
    message_thread_id: int | None = None
    is_topic_message: bool = False
    is_automatic_forward: bool = False
    edit_date: int | None = None
    media_group_id: str | None = None
    text: str = ""
    caption: str = ""
    entities: Addition[list[WireEntity]] = None
    caption_entities: Addition[list[WireEntity]] = None
    reply_to_message: Addition[WireMessage] = None
    quote: Addition[WireQuote] = None
    external_reply: Addition[WireExternal] = None
    forward_origin: Addition[WireOrigin] = None
    forum_topic_created: Addition[dict[str, Any]] = None
    migrate_to_chat_id: int | None = None
    migrate_from_chat_id: int | None = None
    photo: Addition[list[WireFile]] = None
    document: Addition[WireFile] = None
    voice: Addition[WireFile] = None
    audio: Addition[WireFile] = None
    video: Addition[WireFile] = None
    video_note: Addition[WireFile] = None
    animation: Addition[WireFile] = None
    sticker: Addition[WireFile] = None
    location: Addition[WireLocation] = None
    venue: Addition[WireVenue] = None
    contact: Addition[WireContact] = None
    poll: Addition[WirePoll] = None
    dice: Addition[WireDice] = None


class WireTap(Wire):
    """The press of a button."""

    id: str
    sender: WireUser = Field(alias="from")
    data: str = ""
    message: Addition[WireMessage] = None


class WireMember(Wire):
    """The standing of somebody in a chat."""

    status: str


class WireStanding(Wire):
    """A change of the bot's own standing in a chat."""

    chat: WireChat
    sender: WireUser = Field(alias="from")
    new_chat_member: WireMember
