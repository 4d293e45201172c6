"""Methods that send text, change and remove messages, and show what the bot is doing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, TypeAlias

from goat.testing.bot_api.errors import ApiError, bad_request
from goat.testing.bot_api.messages import GENERAL, Json, Message
from goat.testing.bot_api.params import Params
from goat.testing.bot_api.sending import reachable, read_caption, read_markup, read_text, target, within_limits
from goat.testing.bot_api.text import formatted
from goat.testing.bot_api.world import DRAFT, Draft, World

Method: TypeAlias = Callable[[World, Params], Any]

_DELETABLE: Final = timedelta(hours=48)
_TAP_ANSWERABLE: Final = timedelta(seconds=15)
_ACTIONS: Final = {
    "typing",
    "upload_photo",
    "record_video",
    "upload_video",
    "record_voice",
    "upload_voice",
    "upload_document",
    "choose_sticker",
    "find_location",
}


def send_message(world: World, params: Params) -> Json:
    """sendMessage"""
    to = target(world, params)
    shown = read_text(params)
    within_limits(world, to.chat)
    sent = world.post(to.chat, world.bot, shown, topic=to.topic, reply_to=to.reply_to, quote=to.quote, markup=to.markup)
    return sent.as_json()


def send_draft(world: World, params: Params) -> bool:
    """sendMessageDraft"""
    chat = reachable(world, params)
    draft_id = params.integer("draft_id")
    if chat.type != "private":
        raise bad_request("TEXTDRAFT_PEER_INVALID")
    if not draft_id:
        raise bad_request("draft_id must be non-zero")
    shown = formatted(params.text("text"), [])
    topic = params.integer("message_thread_id")
    world.drafts[chat.id, topic] = Draft(draft_id, shown, world.clock.now() + DRAFT)
    world.touch()
    return True


def send_action(world: World, params: Params) -> bool:
    """sendChatAction"""
    chat = reachable(world, params)
    topic = params.integer("message_thread_id")
    if topic is not None and topic not in ((GENERAL, *chat.topics) if chat.is_forum else chat.topics):
        raise bad_request("message thread not found")
    action = params.text("action")
    if action not in _ACTIONS:
        raise bad_request("wrong parameter action in request")
    if topic is not None or not chat.is_forum:  # in a forum one without a topic is seen nowhere
        world.act(chat, topic, action)
    return True


def _own_message(world: World, params: Params, purpose: str) -> Message:
    """The message that a call wants to change, which must be one of the bot's."""
    if params.text("inline_message_id"):
        raise bad_request("MESSAGE_ID_INVALID")
    chat = reachable(world, params)
    message = chat.messages.get(params.integer("message_id") or 0)
    if message is None:
        raise bad_request(f"message to {purpose} not found")
    if message.sender is not world.bot:
        raise bad_request(f"message can't be {purpose}ed")
    return message


def edit_text(world: World, params: Params) -> Json:
    """editMessageText"""
    message = _own_message(world, params, "edit")
    if message.media is not None:
        raise bad_request("there is no text in the message to edit")
    shown = read_text(params, too_long="MESSAGE_TOO_LONG")
    return _edited(world, message, shown == message.shown, read_markup(params), shown=shown)


def edit_caption(world: World, params: Params) -> Json:
    """editMessageCaption"""
    message = _own_message(world, params, "edit")
    if message.media is None:
        raise bad_request("there is no caption in the message to edit")
    shown = read_caption(params)
    return _edited(world, message, shown == message.shown, read_markup(params), shown=shown)


def edit_markup(world: World, params: Params) -> Json:
    """editMessageReplyMarkup"""
    return _edited(world, _own_message(world, params, "edit"), True, read_markup(params))


def _edited(world: World, message: Message, same_text: bool, markup: Json | None, **changes: Any) -> Json:
    """Put a change into effect; a call without a keyboard takes the keyboard away."""
    if same_text and markup == message.markup:
        raise bad_request(
            "message is not modified: specified new message content and reply markup are exactly the same as a "
            "current content and reply markup of the message"
        )
    within_limits(world, message.chat)
    for name, value in {**changes, "markup": markup, "edited_at": world.clock.now()}.items():
        setattr(message, name, value)
    world.touch()
    return message.as_json()


def delete_message(world: World, params: Params) -> bool:
    """deleteMessage"""
    chat = reachable(world, params)
    message = chat.messages.get(params.integer("message_id") or 0)
    if message is None:
        raise bad_request("message to delete not found")
    if world.clock.now() - message.at > _DELETABLE:
        raise bad_request("message can't be deleted for everyone")
    if chat.type != "private" and message.sender is not world.bot and chat.bot_standing != "administrator":
        raise bad_request("message can't be deleted")
    del chat.messages[message.id]
    world.touch()
    return True


def delete_messages(world: World, params: Params) -> bool:
    """deleteMessages: those that cannot be deleted are skipped"""
    chat = reachable(world, params)
    ids = params.parsed("message_ids") or []
    if not 1 <= len(ids) <= 100:
        raise bad_request("message identifiers are not specified")
    for one in ids:
        try:
            delete_message(world, Params({"chat_id": chat.id, "message_id": one}))
        except ApiError:
            continue
    return True


def set_reaction(world: World, params: Params) -> bool:
    """setMessageReaction"""
    chat = reachable(world, params)
    message = chat.messages.get(params.integer("message_id") or 0)
    if message is None:
        raise bad_request("message to react not found")
    given = params.parsed("reaction") or []
    if len(given) > 1:
        raise bad_request("REACTIONS_TOO_MANY")
    message.reactions.pop(world.bot.id, None)
    for one in given:
        if one.get("type") != "emoji" or not one.get("emoji"):
            raise bad_request("REACTION_INVALID")
        message.reactions[world.bot.id] = one["emoji"]
    world.touch()
    return True


def answer_tap(world: World, params: Params) -> bool:
    """answerCallbackQuery"""
    tap = world.taps.get(params.text("callback_query_id"))
    if tap is None or tap.answer is not None or world.clock.now() - tap.at > _TAP_ANSWERABLE:
        raise bad_request("query is too old and response timeout expired or query ID is invalid")
    if len(params.text("text")) > 200:
        raise bad_request("MESSAGE_TOO_LONG")
    tap.answer = {"text": params.text("text"), "show_alert": params.flag("show_alert")}
    world.touch()
    return True


METHODS: Final[dict[str, Method]] = {
    "sendMessage": send_message,
    "sendMessageDraft": send_draft,
    "sendChatAction": send_action,
    "editMessageText": edit_text,
    "editMessageCaption": edit_caption,
    "editMessageReplyMarkup": edit_markup,
    "deleteMessage": delete_message,
    "deleteMessages": delete_messages,
    "setMessageReaction": set_reaction,
    "answerCallbackQuery": answer_tap,
}
