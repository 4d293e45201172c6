"""Who may use the bot. Nobody does until the admin is known; the same question is asked on every path in.

People and groups count by their numeric ids, since names can change hands. Codes let people in: each is good for one
person and one hour, and only its salted hash is kept (PBKDF2, RFC 8018).
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import re
import secrets
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from goat.errors import SettingsError
from goat.interfaces.telegram.address import CHANNEL, Address
from goat.interfaces.telegram.message import Sender
from goat.ports.edges import Admissions
from goat.ports.run import Clock
from goat.ports.stores import WorkingStore
from goat.records.arrivals import Admitted, Invitation, Role
from goat.settings import Settings

CODE_LIFE: Final = timedelta(hours=1)
PENDING: Final = 3
"""How many codes for guests wait at the same time; a further one takes the place of the oldest."""

TRIES: Final = 5
"""How many wrong codes one person may send in an hour; further ones are not looked at."""

TRIES_OF_ALL: Final = 50
"""The same for everybody together."""

_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_DIGITS: Final = "23456789"
_CODE: Final = re.compile(
    rf"(?=.*[{_DIGITS}])\s*([{_LETTERS}]{{4}})[- ]?([{_LETTERS}]{{4}})\s*", re.IGNORECASE | re.DOTALL
)
_ROUNDS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Guest:
    """Somebody who was let in: whose memory is used where they are, and whether they are the admin."""

    owner: str
    admin: bool = False


@dataclass(frozen=True, slots=True)
class Admin:
    """The person who runs GOAT: the owner name, the private chat, and the language that they read, as far as it is
    known."""

    owner: str
    home: Address
    language: str = ""


class Access:
    """The admin, the guests and the groups of one bot. `load` it before anything is asked.

    The settings name people and groups beside those that were let in while it ran; an admin named there is the only
    one.
    """

    def __init__(
        self, admissions: Admissions, working: WorkingStore, clock: Clock, settings: Settings, bot: int
    ) -> None:
        self._admissions = admissions
        self._working = working
        self._clock = clock
        self._settings = settings.telegram
        self._owner = settings.admin
        self._bot = bot
        self._channel = f"{CHANNEL}:{bot}"
        self._admitted: dict[int, Admitted] = {}
        self._names: dict[int, str] = {}
        self._language = ""
        self._wrong: Counter[int] = Counter()
        self._wrong_since: datetime | None = None

    async def load(self) -> None:
        """Read who was let in. Raises `SettingsError` when the bot itself stands in the settings, and
        `BackendUnavailable`."""
        told = (self._settings.admin_chat_id, *map(int, self._settings.guests))
        if self._bot in told:
            raise SettingsError([f"[telegram] {self._bot} is the id of the bot itself; put that of a person there"])
        kept = await self._admissions.everybody(self._channel)
        named = self._settings.admin_chat_id
        self._admitted = {one.number: one for one in kept if not (named and one.role is Role.ADMIN)}
        self._take(Role.GROUP, map(int, self._settings.groups))
        self._take(Role.GUEST, map(int, self._settings.guests))
        if named:
            self._admitted[named] = self._entry(named, Role.ADMIN, "")

    async def load_language(self) -> None:
        """Read which language the admin reads, for what they are told unasked. Raises `BackendUnavailable`."""
        kept = await self._working.get(self._language_key)
        self._language = kept.body if kept is not None else ""

    async def keep_language(self) -> None:
        """Keep it for the next start. Raises `BackendUnavailable`."""
        await self._working.put(self._language_key, self._language)

    @property
    def _language_key(self) -> str:
        return f"{self._channel}:language of the admin"

    def heard(self, sender: Sender) -> bool:
        """Note how somebody is called; True where the language of the admin is another than was known."""
        if sender.id in self._admitted:
            self._names[sender.id] = sender.name
        if not sender.language or sender.language == self._language or not self.is_admin(sender.id):
            return False
        self._language = sender.language
        return True

    def called(self, address: Address) -> str:
        """A place as a person knows it: the name of who is there, empty where it is not known."""
        known = self._admitted.get(address.chat)
        return (known.name if known is not None else "") or self._names.get(address.chat, "")

    def _take(self, role: Role, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._admitted.setdefault(number, self._entry(number, role, ""))

    def _entry(self, number: int, role: Role, name: str) -> Admitted:
        owner = self._owner if role is Role.ADMIN else Address(number).name
        return Admitted(number, role, owner, name, self._clock.now())

    def judge(self, user: int, address: Address) -> Guest | None:
        """Whether somebody may use the bot in this place, and as whom; None for a stranger."""
        person = self._admitted.get(user)
        admin = self.is_admin(user)
        if address.private:
            return Guest(person.owner, admin) if person is not None and user == address.chat else None
        group = self._admitted.get(address.chat)
        if group is None or (person is None and group.role is not Role.OPEN_GROUP):
            return None
        return Guest(group.owner, admin)

    def is_admin(self, user: int) -> bool:
        """Whether this is the person who runs GOAT."""
        person = self._admitted.get(user)
        return person is not None and person.role is Role.ADMIN

    @property
    def admin(self) -> Admin | None:
        """The admin, None while nobody is."""
        known = (one for one in self._admitted.values() if one.role is Role.ADMIN)
        return next((Admin(one.owner, Address(one.number), self._language) for one in known), None)

    @property
    def everybody(self) -> list[Admitted]:
        """All who were let in, groups too."""
        return sorted(self._admitted.values(), key=lambda one: (one.role, one.since, one.number))

    async def pairing_code(self) -> str:
        """A new code that makes the one who sends it the admin; the earlier ones count no more.

        Raises `BackendUnavailable`.
        """
        return await self._new_code(Role.ADMIN, most=1)

    async def guest_code(self) -> str:
        """A new code that lets one guest in. Raises `BackendUnavailable`."""
        return await self._new_code(Role.GUEST, most=PENDING)

    async def _new_code(self, role: Role, most: int) -> str:
        waiting = [
            one for one in await self._admissions.invitations(self._channel, self._clock.now()) if one.role is role
        ]
        for old in waiting[: len(waiting) - most + 1]:
            await self._admissions.withdraw(self._channel, old.id)
        code, salt = _random_code(), os.urandom(16)
        new = Invitation(salt, await asyncio.to_thread(_digest, code, salt), role, self._clock.now() + CODE_LIFE)
        await self._admissions.invite(self._channel, new)
        return f"{code[:4]}-{code[4:]}"

    def may_try(self, user: int) -> bool:
        """Whether a code of this person is looked at, after all the wrong ones of the last hour."""
        now = self._clock.now()
        if self._wrong_since is None or now - self._wrong_since >= CODE_LIFE:
            self._wrong.clear()
            self._wrong_since = now
        return self._wrong[user] < TRIES and self._wrong.total() < TRIES_OF_ALL

    async def redeem(self, code: str, sender: Sender) -> Admitted | None:
        """Let in whoever sent a valid code in a private chat; None when it is not, or no more.

        Raises `BackendUnavailable`.
        """
        if not self.may_try(sender.id):
            return None
        for invitation in await self._admissions.invitations(self._channel, self._clock.now()):
            if not hmac.compare_digest(await asyncio.to_thread(_digest, code, invitation.salt), invitation.digest):
                continue
            entry = self._entry(sender.id, invitation.role, sender.name)
            if await self._admissions.redeem(self._channel, invitation.id, entry):
                self._admitted[sender.id] = entry
                self.heard(sender)
                return entry
        self._wrong[sender.id] += 1
        return None

    async def open_group(self, address: Address, title: str, everyone: bool) -> None:
        """Answer in a group: the people that are known, or every member. Raises `BackendUnavailable`."""
        role = Role.OPEN_GROUP if everyone else Role.GROUP
        known = self._admitted.get(address.chat)
        entry = self._entry(address.chat, role, title) if known is None else replace(known, role=role, name=title)
        await self._admit(entry)

    async def dismiss(self, number: int) -> bool:
        """Let a guest or a group in no more; False for one that is not known, and for the admin.

        Raises `BackendUnavailable`.
        """
        known = self._admitted.get(number)
        if known is None or known.role is Role.ADMIN:
            return False
        await self._admissions.dismiss(self._channel, number)
        del self._admitted[number]
        return True

    def follow(self, old: int, new: int) -> None:
        """A group has another id from this moment on; its memory stays its own. `moved` keeps it."""
        known = self._admitted.get(old)
        if known is not None:
            self._admitted.setdefault(new, replace(known, number=new))

    async def moved(self, old: int, new: int) -> None:
        """Keep that a group has another id. Raises `BackendUnavailable`."""
        self.follow(old, new)
        if new in self._admitted:
            await self._admissions.admit(self._channel, self._admitted[new])

    async def _admit(self, entry: Admitted) -> None:
        await self._admissions.admit(self._channel, entry)
        self._admitted[entry.number] = entry


def _random_code() -> str:
    """A code with a digit in it, which tells it from a word of eight letters."""
    while True:
        code = "".join(secrets.choice(_LETTERS) for _ in range(8))
        if code_in(code):
            return code


def code_in(text: str) -> str:
    """The code that a text is, in capitals and without its dash; empty when it is none, as a word is."""
    written = _CODE.fullmatch(text)
    return (written[1] + written[2]).upper() if written else ""


def _digest(code: str, salt: bytes) -> bytes:
    return hashlib.pbkdf2_hmac("sha256", code.encode(), salt, _ROUNDS)
