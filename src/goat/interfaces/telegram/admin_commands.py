"""The admin's commands about who may use the bot, and about how it runs."""

from __future__ import annotations

from goat.interfaces.telegram.access import Access
from goat.interfaces.telegram.commands import TelegramCommands
from goat.interfaces.telegram.message import Me, Message
from goat.interfaces.telegram.turns import Turns
from goat.interfaces.texts import Texts, texts_for
from goat.records.arrivals import Admitted, Role

EVERYONE = "everyone"


class AdminCommands:
    """`/invite`, `/people`, `/remove`, `/allow`, `/disallow` and `/resume`."""

    def __init__(self, access: Access, turns: Turns, me: Me) -> None:
        self._access = access
        self._turns = turns
        self._me = me

    def add_to(self, commands: TelegramCommands) -> None:
        """Let the admin give them."""
        commands.add("invite", self._invite)
        commands.add("people", self._people)
        commands.add("remove", self._remove)
        commands.add("allow", self._allow)
        commands.add("disallow", self._disallow)
        commands.add("resume", self._resume)

    async def _invite(self, message: Message, _rest: str) -> str:
        say = texts_for(message.sender.language)
        if not message.address.private:
            return say("access.invite_in_private")
        code = await self._access.guest_code()
        return say("access.invited", code=code, bot=self._me.username, payload=code.replace("-", ""))

    async def _people(self, message: Message, _rest: str) -> str:
        say = texts_for(message.sender.language)
        return "\n".join(_listed(one, say) for one in self._access.everybody)

    async def _remove(self, message: Message, rest: str) -> str:
        say = texts_for(message.sender.language)
        if not rest.removeprefix("-").isdecimal():
            return say("access.remove_what")
        gone = await self._access.dismiss(int(rest))
        return say("access.removed", number=rest) if gone else say("access.not_removed", number=rest)

    async def _allow(self, message: Message, rest: str) -> str:
        say = texts_for(message.sender.language)
        if message.address.private:
            return say("access.allow_in_group")
        everyone = rest.lower() == EVERYONE
        await self._access.open_group(message.address, message.chat_title, everyone)
        return say("access.allowed_everyone") if everyone else say("access.allowed")

    async def _disallow(self, message: Message, _rest: str) -> str:
        say = texts_for(message.sender.language)
        gone = not message.address.private and await self._access.dismiss(message.address.chat)
        return say("access.disallowed") if gone else say("access.allow_in_group")

    async def _resume(self, message: Message, _rest: str) -> str:
        say = texts_for(message.sender.language)
        if not self._turns.held:
            return say("door.not_held")
        self._turns.release()
        return say("door.resumed")


def _listed(one: Admitted, say: Texts) -> str:
    roles = {
        Role.ADMIN: say("access.admin"),
        Role.GUEST: say("access.guest"),
        Role.GROUP: say("access.group"),
        Role.OPEN_GROUP: say("access.open_group"),
    }
    return f"{one.number}  {roles[one.role]}  {one.name}".rstrip()
