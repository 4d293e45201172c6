"""Methods that send and fetch files."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final

from goat.testing.bot_api.entities import read_entities
from goat.testing.bot_api.errors import ApiError, bad_request
from goat.testing.bot_api.markup import parsed
from goat.testing.bot_api.messages import Json, Media, StoredFile
from goat.testing.bot_api.methods_messages import Method
from goat.testing.bot_api.params import Params, Upload
from goat.testing.bot_api.sending import read_caption, target, within_limits
from goat.testing.bot_api.text import caption_text
from goat.testing.bot_api.world import World

MEGABYTE: Final = 1024 * 1024
DOWNLOAD: Final = 20 * MEGABYTE
UPLOAD: Final = 50 * MEGABYTE
PHOTO: Final = 10 * MEGABYTE


def _stored(world: World, given: Upload | str | None, kind: str) -> StoredFile:
    if given is None:
        raise bad_request(f"there is no {kind} in the request")
    if isinstance(given, str):
        if given not in world.files:
            raise bad_request("wrong file identifier/HTTP URL specified")
        return world.files[given]
    if not given.content:
        raise bad_request("file must be non-empty")
    if len(given.content) > UPLOAD:
        raise ApiError(413, "Request Entity Too Large")
    if kind == "photo":
        _check_photo(given.content)
    return world.store(given.name, given.content, given.mime)


def _check_photo(content: bytes) -> None:
    """Refuse what is too large or no picture; the measures are read from PNG files alone."""
    if len(content) > PHOTO:
        raise bad_request(
            f"file of size {len(content)} bytes is too big for a photo; the maximum size is {PHOTO} bytes"
        )
    if content.startswith((b"<", b"%PDF", b"PK")):
        raise bad_request("IMAGE_PROCESS_FAILED")
    if content.startswith(b"\x89PNG") and len(content) >= 24:
        width, height = struct.unpack(">II", content[16:24])
        if width + height > 10_000 or max(width, height) > 20 * min(width, height):
            raise bad_request("PHOTO_INVALID_DIMENSIONS")


def _sends(kind: str) -> Method:
    def send(world: World, params: Params) -> Json:
        to = target(world, params)
        shown = read_caption(params)
        media = Media(kind, _stored(world, params.upload(kind), kind), params.integer("duration") or 0)
        within_limits(world, to.chat)
        sent = world.post(
            to.chat,
            world.bot,
            shown,
            topic=to.topic,
            media=media,
            reply_to=to.reply_to,
            quote=to.quote,
            markup=to.markup,
        )
        return sent.as_json()

    return send


def send_album(world: World, params: Params) -> list[Json]:
    """sendMediaGroup"""
    to = target(world, params)
    items = params.parsed("media")
    if not isinstance(items, list) or len(items) < 2:
        raise bad_request("there are no messages to send as an album")
    if len(items) > 10:
        raise bad_request("too many messages to send as an album")
    kinds = {item.get("type") for item in items}
    if kinds - {"photo", "video"} and len(kinds) > 1:
        raise bad_request("can't use the media of the specified type in the album")
    ready = [(_media(world, params, item), caption_text(*_item_caption(item))) for item in items]
    within_limits(world, to.chat)
    album = str(world.number("album"))
    return [
        world.post(to.chat, world.bot, shown, topic=to.topic, media=media, reply_to=to.reply_to, album=album).as_json()
        for media, shown in ready
    ]


def _media(world: World, params: Params, item: Mapping[str, Any]) -> Media:
    kind = str(item.get("type"))
    if kind not in ("photo", "video", "document", "audio"):
        raise bad_request("can't parse InputMedia: type of the media is wrong")
    return Media(kind, _stored(world, params.referred(item.get("media")), kind))


def _item_caption(item: Mapping[str, Any]) -> tuple[str, list[Any]]:
    caption = item.get("caption", "")
    if item.get("parse_mode"):
        return parsed(caption, item["parse_mode"])
    return caption, read_entities(item.get("caption_entities", []))


def get_file(world: World, params: Params) -> Json:
    """getFile"""
    file = world.files.get(params.text("file_id"))
    if file is None:
        raise bad_request("wrong file_id or the file is temporarily unavailable")
    if file.size > DOWNLOAD:
        raise bad_request("file is too big")
    return {**file.as_json(), "file_path": file.path}


METHODS: Final[dict[str, Method]] = {
    "sendPhoto": _sends("photo"),
    "sendDocument": _sends("document"),
    "sendVoice": _sends("voice"),
    "sendAudio": _sends("audio"),
    "sendVideo": _sends("video"),
    "sendMediaGroup": send_album,
    "getFile": get_file,
}
