"""Methods about the bot itself, its chats, and how it receives updates."""

from __future__ import annotations

import re
from typing import Any, Final

from goat.testing.bot_api.errors import bad_request, conflict
from goat.testing.bot_api.messages import Json
from goat.testing.bot_api.methods_messages import Method
from goat.testing.bot_api.params import Params
from goat.testing.bot_api.sending import reachable
from goat.testing.bot_api.world import Webhook, World

_COMMANDS: Final = 100


def get_me(world: World, params: Params) -> Json:
    """getMe"""
    return {
        **world.bot.as_json(),
        "can_join_groups": True,
        "can_read_all_group_messages": not world.privacy,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
    }


def get_chat(world: World, params: Params) -> Json:
    """getChat"""
    chat = world.chat(params.values.get("chat_id"))
    gifts = dict.fromkeys(
        ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels"), False
    )
    return {**chat.as_json(), "accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": gifts}


def get_chat_member(world: World, params: Params) -> Json:
    """getChatMember"""
    return world.member_json(reachable(world, params), params.integer("user_id") or 0)


def leave_chat(world: World, params: Params) -> bool:
    """leaveChat"""
    chat = reachable(world, params)
    if chat.type == "private":
        raise bad_request("chat member status can't be changed in private chats")
    chat.bot_standing = "left"
    return True


def create_topic(world: World, params: Params) -> Json:
    """createForumTopic"""
    chat = reachable(world, params)
    if not chat.is_forum:
        raise bad_request("the chat is not a forum")
    if not 1 <= len(params.text("name")) <= 128:
        raise bad_request("TOPIC_TITLE_EMPTY")
    number = chat.last_message_id = chat.last_message_id + 1
    chat.topics[number] = params.text("name")
    return {"message_thread_id": number, "name": params.text("name"), "icon_color": 7322096}


def _commands_key(params: Params) -> tuple[str, str]:
    scope = params.parsed("scope") or {"type": "default"}
    return ":".join(str(scope[name]) for name in sorted(scope)), params.text("language_code")


def set_commands(world: World, params: Params) -> bool:
    """setMyCommands"""
    given = params.parsed("commands")
    if not isinstance(given, list):
        raise bad_request("can't parse commands JSON object")
    if len(given) > _COMMANDS:
        raise bad_request("BOT_COMMANDS_TOO_MUCH")
    for one in given:
        if not re.fullmatch(r"[a-z0-9_]{1,32}", str(one.get("command", ""))):
            raise bad_request("BOT_COMMAND_INVALID")
        if not 1 <= len(str(one.get("description", ""))) <= 256:
            raise bad_request("BOT_COMMAND_DESCRIPTION_INVALID")
    world.commands[_commands_key(params)] = given
    return True


def get_commands(world: World, params: Params) -> list[Json]:
    """getMyCommands"""
    return world.commands.get(_commands_key(params), [])


def delete_commands(world: World, params: Params) -> bool:
    """deleteMyCommands"""
    world.commands.pop(_commands_key(params), None)
    return True


async def get_updates(world: World, params: Params) -> list[Json]:
    """getUpdates"""
    if world.webhook is not None:
        raise conflict(
            "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
        )
    limit = params.integer("limit")
    _take_allowed(world, params)
    return await world.updates.fetch(
        params.integer("offset") or 0,
        limit if limit and 1 <= limit <= 100 else 100,
        min(max(params.integer("timeout") or 0, 0), 50),
        world.ended,
    )


def _take_allowed(world: World, params: Params) -> None:
    allowed = params.parsed("allowed_updates")
    if allowed is None:
        return
    if not isinstance(allowed, list):
        raise bad_request("can't parse allowed updates JSON object")
    world.updates.allowed = allowed or None


def set_webhook(world: World, params: Params) -> bool:
    """setWebhook. Plain HTTP is taken, as this server has no certificate to check."""
    url, secret = params.text("url"), params.text("secret_token")
    if url and not re.match(r"https?://[^\s/]+", url):
        raise bad_request("bad webhook: invalid HTTPS URL specified")
    if secret and not re.fullmatch(r"[A-Za-z0-9_-]{1,256}", secret):
        raise bad_request("secret token contains unallowed characters")
    _take_allowed(world, params)
    if params.flag("drop_pending_updates"):
        world.updates.drop()
    world.webhook = Webhook(url, secret or None) if url else None
    world.touch()
    return True


def delete_webhook(world: World, params: Params) -> bool:
    """deleteWebhook"""
    return set_webhook(world, Params({"drop_pending_updates": params.flag("drop_pending_updates")}))


def get_webhook_info(world: World, params: Params) -> Json:
    """getWebhookInfo"""
    hook = world.webhook
    body: Json = {
        "url": hook.url if hook else "",
        "has_custom_certificate": False,
        "pending_update_count": len(world.updates.waiting),
    }
    if hook and hook.error_at:
        body |= {"last_error_date": int(hook.error_at.timestamp()), "last_error_message": hook.error}
    return body


def accept(world: World, params: Params) -> Any:
    """Settings of the bot that nothing here depends on."""
    return True


METHODS: Final[dict[str, Method]] = {
    "getMe": get_me,
    "getChat": get_chat,
    "getChatMember": get_chat_member,
    "leaveChat": leave_chat,
    "createForumTopic": create_topic,
    "setMyCommands": set_commands,
    "getMyCommands": get_commands,
    "deleteMyCommands": delete_commands,
    "getUpdates": get_updates,
    "setWebhook": set_webhook,
    "deleteWebhook": delete_webhook,
    "getWebhookInfo": get_webhook_info,
    "setMyName": accept,
    "setMyDescription": accept,
    "setMyShortDescription": accept,
    "setChatMenuButton": accept,
}
