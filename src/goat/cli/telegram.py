"""`goat telegram`."""

from __future__ import annotations

import asyncio

from goat.cli.session import ConfigOption, HomeOption, read_settings
from goat.errors import BotUnusable, GoatError
from goat.settings import Loaded


def telegram(home: HomeOption = None, config: ConfigOption = None) -> None:
    """Run the Telegram bot until it is stopped with Ctrl-C."""
    serve_bot(read_settings(home, config))


def serve_bot(loaded: Loaded) -> None:
    """Run the bot of the settings. Raises `GoatError` when it cannot be run."""
    token = loaded.settings.keys.telegram.get_secret_value()
    if not token:
        raise BotUnusable(
            "it has no token",
            f"Make a bot with @BotFather in Telegram and put TELEGRAM_BOT_TOKEN=… into {loaded.files.env}.",
        )
    if loaded.settings.telegram.webhook_url and not loaded.settings.keys.telegram_webhook.get_secret_value():
        raise BotUnusable(
            "a webhook without a secret would take messages from anybody",
            f"Put TELEGRAM_WEBHOOK_SECRET=… into {loaded.files.env}, 1 to 256 letters, digits, _ or -.",
        )
    from goat.app import bot_lock, system_clock
    from goat.cli.serving import serve
    from goat.interfaces.telegram.boots import Boots
    from goat.interfaces.telegram.door import bot_number

    boots = Boots(loaded.home, system_clock(loaded.settings))
    with bot_lock(bot_number(token)):
        safely = boots.begin()
        try:
            asyncio.run(serve(loaded, token, safely))
        except asyncio.CancelledError:  # the second Ctrl-C
            boots.ended_well()
            raise KeyboardInterrupt from None
        except (GoatError, KeyboardInterrupt):
            boots.ended_well()
            raise
        boots.ended_well()
