"""What belongs to a reply beside its words: the turn that it answers, its buttons, a file. It travels in `extra`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from goat.interfaces.telegram.client import Button
from goat.interfaces.telegram.render import Chunk, Document, plain, render
from goat.interfaces.texts import texts_for


@dataclass(frozen=True, slots=True)
class Envelope:
    """How a reply is to be sent.

    `turn` names the turn that it answers, so that it takes the place of the preview of that turn. `reply_to` is the
    message that it replies to, `plain` says that its text is no Markdown, `buttons` stand below its last message, and
    `file` is sent behind the text. `language` is that of the person, as two letters. With `doubt` it says itself that
    another reply may be missing, so nothing is said when it may be missing, too.
    """

    turn: str = ""
    reply_to: int | None = None
    plain: bool = False
    buttons: tuple[tuple[Button, ...], ...] = ()
    file: Path | None = None
    language: str = ""
    doubt: bool = False

    def packed(self) -> dict[str, str]:
        """The same as the words of `Incoming.extra` and `NewOutgoing.extra`, without what is as usual."""
        rows = [[{"label": one.label, "data": one.data, "url": one.url} for one in row] for row in self.buttons]
        written = {
            "turn": self.turn,
            "reply_to": "" if self.reply_to is None else str(self.reply_to),
            "plain": "yes" if self.plain else "",
            "buttons": json.dumps(rows, ensure_ascii=False) if rows else "",
            "file": str(self.file or ""),
            "language": self.language,
            "doubt": "yes" if self.doubt else "",
        }
        return {name: value for name, value in written.items() if value}

    @classmethod
    def opened(cls, extra: Mapping[str, str]) -> Self:
        """What `packed` wrote."""
        rows: list[list[dict[str, Any]]] = json.loads(extra.get("buttons") or "[]")
        return cls(
            turn=extra.get("turn", ""),
            reply_to=int(extra["reply_to"]) if extra.get("reply_to") else None,
            plain=bool(extra.get("plain")),
            buttons=tuple(tuple(Button(**one) for one in row) for row in rows),
            file=Path(extra["file"]) if extra.get("file") else None,
            language=extra.get("language", ""),
            doubt=bool(extra.get("doubt")),
        )

    def chunks(self, text: str) -> tuple[Chunk, ...]:
        """The messages that show the reply, at least one. Raises `OSError` when its file cannot be read."""
        shown = plain(text) if self.plain else render(text)
        if self.file is not None:
            shown = (*shown, Chunk("", document=Document(self.file.name, self.file.read_bytes())))
        return shown or plain(texts_for(self.language)("egress.nothing"))
