"""How far each reply has been delivered, part by part, and the messages that show an answer while it is written."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_KEPT = "id, owner_id, chat_id, channel, text, episode_id, created, done_at"


def upgrade() -> None:
    """Make `outbox` anew, as SQLite cannot let go of NOT NULL, and create `delivery` and `preview`.

    There is no way down: the copy made before an upgrade is the way back.
    """
    op.rename_table("outbox", "outbox_before")
    op.create_table(
        "outbox",
        _number("id", primary_key=True),
        _number("owner_id", sa.ForeignKey("owner.id")),
        _number("chat_id", sa.ForeignKey("chat.id")),
        _text("channel"),
        _text("text"),
        _text("extra"),
        sa.Column("episode_id", _kind(), sa.ForeignKey("episode.id")),
        _moment("created"),
        _moment("done_at", nullable=True),
        sa.Column("outcome", sa.Text()),
        sa.Column("reason", sa.Text()),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.execute(
        f"INSERT INTO outbox ({_KEPT}, extra, outcome, reason) SELECT {_KEPT}, '{{}}', "
        "CASE WHEN done_at IS NULL THEN NULL ELSE 'delivered' END, CASE WHEN done_at IS NULL THEN NULL ELSE '' END "
        "FROM outbox_before"
    )
    op.execute("UPDATE outbox SET text = '' WHERE done_at IS NOT NULL")
    op.drop_table("outbox_before")
    _partial_index("outbox_pending", ["chat_id", "channel", "id"], "done_at IS NULL")
    _partial_index("outbox_trouble", ["channel", "done_at"], "outcome != 'delivered'")
    op.create_index("outbox_episode", "outbox", ["episode_id"])
    op.create_table(
        "delivery",
        _number("outbox_id", sa.ForeignKey("outbox.id", ondelete="CASCADE"), primary_key=True),
        _number("part", primary_key=True),
        _text("state"),
        sa.Column("message", _kind()),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "preview",
        _number("chat_id", sa.ForeignKey("chat.id"), primary_key=True),
        _text("channel", primary_key=True),
        _text("turn"),
        _number("message"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )


def _partial_index(name: str, columns: list[str], condition: str) -> None:
    where = sa.text(condition)
    op.create_index(name, "outbox", columns, sqlite_where=where, postgresql_where=where)


def _kind() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _number(name: str, *constraints: sa.ForeignKey, **options: Any) -> sa.Column[int]:
    return sa.Column(name, _kind(), *constraints, nullable=False, **options)


def _text(name: str, **options: Any) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False, **options)


def _moment(name: str, nullable: bool = False) -> sa.Column[float]:
    kind: sa.types.TypeEngine[float] = sa.Double().with_variant(sa.REAL(), "sqlite")
    return sa.Column(name, kind, nullable=nullable)
