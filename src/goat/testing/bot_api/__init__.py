"""A Bot API for tests: strict like Telegram, over real HTTP, with people at the other end.

    async with FakeBotApi() as api:
        ana = api.person("Ana")
        ana.says("hello")
        … a bot with api.token, base_url=api.base_url, base_file_url=api.base_file_url …
        assert await api.answers(ana) == ["Hello, Ana."]
        print(api.screen(ana).drawing())

It listens on a free port of 127.0.0.1 in the running event loop. Calls are validated as Telegram does and refused in
its words; an update stays until it is confirmed; `fails` lets calls go wrong before or after they take effect; `screen`
is what a person sees in the end. Where Telegram silently takes a default for a malformed number or flag, this server
refuses, so that the mistake shows. Needs the extra `testing`.
"""

from goat.testing.bot_api.endpoint import Call
from goat.testing.bot_api.entities import TextEntity
from goat.testing.bot_api.errors import ApiError
from goat.testing.bot_api.faults import Fault
from goat.testing.bot_api.messages import Chat, Media, Message, StoredFile, User
from goat.testing.bot_api.people import Person
from goat.testing.bot_api.screen import Screen, Seen
from goat.testing.bot_api.server import TOKEN, FakeBotApi
from goat.testing.bot_api.text import FormattedText, formatted, message_text
from goat.testing.bot_api.world import Tap

__all__ = [
    "TOKEN",
    "ApiError",
    "Call",
    "Chat",
    "FakeBotApi",
    "Fault",
    "FormattedText",
    "Media",
    "Message",
    "Person",
    "Screen",
    "Seen",
    "StoredFile",
    "Tap",
    "TextEntity",
    "User",
    "formatted",
    "message_text",
]
