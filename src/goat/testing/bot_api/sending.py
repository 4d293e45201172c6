"""What every call that sends has in common: where it goes, whether it may, what it replies to, its buttons."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from goat.testing.bot_api.entities import read_entities
from goat.testing.bot_api.errors import bad_request, forbidden, too_many_requests
from goat.testing.bot_api.markup import parsed
from goat.testing.bot_api.messages import GENERAL, Chat, Json, Message
from goat.testing.bot_api.params import Params
from goat.testing.bot_api.text import FormattedText, caption_text, message_text
from goat.testing.bot_api.world import World

_GROUP_MESSAGES_A_MINUTE: Final = 20


@dataclass(frozen=True, slots=True)
class Target:
    """Where a message goes, and what hangs on it."""

    chat: Chat
    topic: int | None
    reply_to: Message | None
    quote: str | None
    markup: Json | None


def target(world: World, params: Params) -> Target:
    """Check the addressee of a call and everything that the kinds of messages share."""
    chat = reachable(world, params)
    topic = _topic(chat, params)
    reply_to, quote = _reply(chat, params)
    return Target(chat, topic, reply_to, quote, read_markup(params))


def reachable(world: World, params: Params) -> Chat:
    """The chat of a call, when the bot may write in it."""
    if params.values.get("chat_id") in (None, ""):
        raise bad_request("chat_id is empty")
    chat = world.chat(params.values["chat_id"])
    if chat.moved_to is not None:
        raise bad_request("group chat was upgraded to a supergroup chat", migrate_to_chat_id=chat.moved_to)
    kind = "group" if chat.type == "group" else chat.type
    match chat.bot_standing:
        case "unknown":
            raise forbidden("bot can't initiate conversation with a user")
        case "blocked":
            raise forbidden("bot was blocked by the user")
        case "kicked":
            raise forbidden(f"bot was kicked from the {kind} chat")
        case "left":
            raise forbidden(f"bot is not a member of the {kind} chat")
    return chat


def _topic(chat: Chat, params: Params) -> int | None:
    topic = params.integer("message_thread_id")
    if topic is not None and (topic == GENERAL or topic not in chat.topics):
        raise bad_request("message thread not found")
    return topic


def _reply(chat: Chat, params: Params) -> tuple[Message | None, str | None]:
    given = params.parsed("reply_parameters")
    if given is None and (old := params.integer("reply_to_message_id")) is not None:
        given = {"message_id": old, "allow_sending_without_reply": params.flag("allow_sending_without_reply")}
    if given is None:
        return None, None
    if not isinstance(given, dict) or not isinstance(given.get("message_id"), int):
        raise bad_request("can't parse reply parameters JSON object")
    message = chat.messages.get(given["message_id"])
    if message is None and not given.get("allow_sending_without_reply"):
        raise bad_request("message to be replied not found")
    quote = given.get("quote")
    if message is not None and quote and quote not in message.text:
        raise bad_request("QUOTE_TEXT_INVALID")
    return message, quote if message is not None else None


def read_markup(params: Params) -> Json | None:
    """The keyboard of a call. Raises `ApiError` for buttons that Telegram refuses."""
    markup = params.parsed("reply_markup")
    if markup is None:
        return None
    if not isinstance(markup, dict):
        raise bad_request("object expected as reply markup")
    rows = markup.get("inline_keyboard", [])
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise bad_request('field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays')
    buttons = [button for row in rows for button in row]
    if len(buttons) > 100:
        raise bad_request("reply markup is too long")
    for button in buttons:
        _check_button(button)
    kept = {**markup, "inline_keyboard": [row for row in rows if row]} if "inline_keyboard" in markup else markup
    return kept if kept.get("inline_keyboard", True) else None


def _check_button(button: Any) -> None:
    if not isinstance(button, dict) or not isinstance(button.get("text"), str):
        raise bad_request("can't parse inline keyboard button: Can't find field \"text\"")
    if not button["text"].strip():
        raise bad_request("BUTTON_TEXT_INVALID")
    data, url = button.get("callback_data"), button.get("url")
    if data is None and url is None and not {"web_app", "switch_inline_query", "copy_text"} & button.keys():
        raise bad_request("text buttons are unallowed in the inline keyboard")
    if data is not None and not 1 <= len(str(data).encode()) <= 64:
        raise bad_request("BUTTON_DATA_INVALID")
    if url is not None and "." not in str(url) and not str(url).startswith("tg://"):
        raise bad_request("BUTTON_URL_INVALID")


def within_limits(world: World, chat: Chat) -> None:
    """Count a message against the limits of its chat, one a second and in groups 20 a minute, when they are on."""
    if not world.limited:
        return
    now = world.clock.monotonic()
    sent = [at for at in world.sent.get(chat.id, []) if at > now - 60]
    wait = 1 - (now - sent[-1]) if sent else 0.0
    if chat.type != "private" and len(sent) >= _GROUP_MESSAGES_A_MINUTE:
        wait = max(wait, sent[-_GROUP_MESSAGES_A_MINUTE] + 60 - now)
    world.sent[chat.id] = sent
    if wait > 0:
        raise too_many_requests(math.ceil(wait))
    sent.append(now)


def read_text(params: Params, too_long: str = "message is too long") -> FormattedText:
    """The parameters `text`, `entities` and `parse_mode`."""
    text, entities = _marked_up(params, "text", "entities")
    return message_text(text, entities, too_long)


def read_caption(params: Params) -> FormattedText:
    """The parameters `caption`, `caption_entities` and `parse_mode`."""
    return caption_text(*_marked_up(params, "caption", "caption_entities"))


def _marked_up(params: Params, text_name: str, entities_name: str) -> tuple[str, list[Any]]:
    text, mode = params.text(text_name), params.text("parse_mode")
    if mode:
        return parsed(text, mode)
    given = params.parsed(entities_name)
    return text, [] if given is None else read_entities(given)
