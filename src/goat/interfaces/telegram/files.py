"""Files that people send: kept in the owner's workspace under names of our own, and told of in one line each."""

from __future__ import annotations

import asyncio
import mimetypes
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

from goat.errors import ToolError
from goat.interfaces.telegram.failures import BotApiError
from goat.interfaces.telegram.message import Attachment, Message
from goat.interfaces.texts import ENGLISH, Texts, texts_for
from goat.plugins.workspace import inside

FOLDER: Final = "inbox"
"""Where received files stand in the workspace, so that the tools for files reach them."""

MEGABYTE: Final = 1024 * 1024
MOST: Final = 20 * MEGABYTE
"""The largest file that Telegram gives to a bot, in bytes."""

NAME_CHARS: Final = 80

_SUFFIX: Final = re.compile(r"\.[a-z0-9]{1,8}")
_USUAL: Final = {"photo": ".jpg", "voice": ".ogg", "video": ".mp4", "video_note": ".mp4", "sticker": ".webp"}
_NOT_UNDERSTOOD: Final = frozenset({"photo", "voice", "audio", "video", "video_note", "animation", "sticker"})


class Downloads(Protocol):
    """What is needed of the Bot API."""

    async def download(self, file_id: str, to: Path, most: int) -> int:
        """Write a file of at most `most` bytes to a path and return its size. Raises `BotApiError` and `OSError`."""
        ...


@dataclass(frozen=True, slots=True)
class Received:
    """What became of a message's files: a line for each in the turn's text, and what the person is to be told.

    `kept` counts those that could be had.
    """

    lines: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    kept: int = 0


class Files:
    """Fetches the files of people who were let in. `workspace` gives the folder of an owner and chat."""

    def __init__(self, downloads: Downloads, workspace: Callable[[str, str], Path]) -> None:
        self._downloads = downloads
        self._workspace = workspace

    async def receive(self, owner: str, message: Message) -> Received:
        """Keep the files of a message, one after another. One that cannot be had does not stop the others."""
        say = texts_for(message.sender.language)
        lines: list[str] = []
        notices: list[str] = []
        kept = 0
        workspace = self._workspace(owner, message.address.name)
        places: Counter[int] = Counter()
        for attachment in message.attachments:
            places[attachment.number] += 1
            name = file_name(attachment, places[attachment.number])
            problem = _too_large(attachment, say) or await self._fetch(attachment, workspace, name, say)
            lines.append(told(attachment, name, problem))
            kept += not problem
            if problem and not attachment.cited:
                notices.append(say("files.not_kept", file=described(attachment, say), problem=problem))
        return Received(tuple(lines), tuple(notices), kept)

    async def _fetch(self, attachment: Attachment, workspace: Path, name: str, say: Texts) -> str:
        """Write the file; the reason why it could not be done, empty where it was."""
        try:
            path = await asyncio.to_thread(_place, workspace, name)
            partial = path.with_name(f"{name}.part")
            size = await self._downloads.download(attachment.file_id, partial, MOST)
            if not size:
                await asyncio.to_thread(partial.unlink)
                return say("files.empty")
            await asyncio.to_thread(partial.replace, path)
        except BotApiError as failure:
            return say("files.not_fetched", reason=failure.reason)
        except ToolError as outside:
            return say("files.not_written", reason=outside.problem)
        except OSError as failure:
            return say("files.not_written", reason=failure.strerror or type(failure).__name__)
        return ""


def _place(workspace: Path, name: str) -> Path:
    """Where a file goes, with its folder made and nothing of an earlier attempt in the way.

    Raises `ToolError` where a link leads out of the workspace, and `OSError`.
    """
    folder = inside(FOLDER, workspace, FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.part").unlink(missing_ok=True)
    return folder / name


def _too_large(attachment: Attachment, say: Texts) -> str:
    """Why a file is not even asked for, judged by what Telegram says of it."""
    if attachment.size is not None and attachment.size > MOST:
        return say("files.too_large", size=amount(attachment.size), most=amount(MOST))
    return say("files.empty") if attachment.size == 0 else ""


def file_name(attachment: Attachment, place: int) -> str:
    """The name under which a file is kept: when it was sent, the numbers of its message and place, and its ending.

    The same file of the same message has the same name, so a second delivery replaces the first. Nothing of the
    sender's name for it is taken but a plain ending.
    """
    return f"{attachment.at:%Y%m%d-%H%M%S}-{attachment.number}-{place}{_suffix(attachment)}"


def _suffix(attachment: Attachment) -> str:
    own = PurePosixPath(attachment.name).suffix.lower()
    if _SUFFIX.fullmatch(own):
        return own
    guessed = mimetypes.guess_extension(attachment.mime) if attachment.mime else None
    return guessed or _USUAL.get(attachment.kind, ".bin")


def told(attachment: Attachment, name: str, problem: str) -> str:
    """The line about a file for the turn, which the model reads."""
    whose = " of the message that this answers" if attachment.cited else ""
    what = described(attachment, texts_for(ENGLISH)) + whose
    if problem:
        return f"[{what}: not received. {problem}]"
    unseen = "; its content cannot be seen or heard by you yet" if attachment.kind in _NOT_UNDERSTOOD else ""
    return f"[{what}, kept in the workspace as {FOLDER}/{name}{unseen}]"


def described(attachment: Attachment, say: Texts) -> str:
    """What a file is: its kind, the sender's name for it, its type, length and size."""
    kind = say(f"kinds.{attachment.kind}")
    name = " ".join(attachment.name.split()).replace("[", "(").replace("]", ")")[:NAME_CHARS]
    facts = [
        attachment.mime if re.fullmatch(r"[\w.+-]+/[\w.+-]+", attachment.mime) else "",
        f"{attachment.seconds} s" if attachment.seconds else "",
        amount(attachment.size) if attachment.size else "",
    ]
    listed = ", ".join(fact for fact in facts if fact)
    return " ".join(part for part in (kind, f"“{name}”" if name else "", f"({listed})" if listed else "") if part)


def amount(size: int) -> str:
    """A number of bytes, short."""
    if size < MEGABYTE:
        return f"{max(1, round(size / 1024))} kB"
    return f"{size / MEGABYTE:.1f}".removesuffix(".0") + " MB"
