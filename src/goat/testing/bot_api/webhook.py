"""Pushes updates to the address that the bot has set, one after another, until each is taken."""

from __future__ import annotations

import asyncio
from typing import Final

import httpx2

from goat.testing.bot_api.updates import Update
from goat.testing.bot_api.world import Webhook, World

SECRET_HEADER: Final = "X-Telegram-Bot-Api-Secret-Token"
_PAUSE: Final = 0.2
_TIMEOUT: Final = 60.0


async def push_updates(world: World) -> None:
    """Deliver for ever. An update that is not answered with 2xx comes again, and the later ones wait for it."""
    async with httpx2.AsyncClient(timeout=_TIMEOUT) as client:
        while True:
            changed = world.changed
            hook, waiting = world.webhook, world.updates.waiting
            if hook is None or not waiting:
                await changed.wait()
            elif problem := await _pushed(client, hook, waiting[0]):
                hook.error, hook.error_at = problem, world.clock.now()
                await asyncio.sleep(_PAUSE)
            else:
                world.updates.confirm(waiting[0].id + 1)
                world.touch()


async def _pushed(client: httpx2.AsyncClient, hook: Webhook, update: Update) -> str:
    """Why the update was not taken; empty when it was."""
    headers = {SECRET_HEADER: hook.secret} if hook.secret else {}
    try:
        answer = await client.post(hook.url, json=update.body, headers=headers)
    except httpx2.TransportError as failed:
        return f"Connection failed: {type(failed).__name__}"
    return "" if answer.is_success else f"Wrong response from the webhook: {answer.status_code} {answer.reason_phrase}"
