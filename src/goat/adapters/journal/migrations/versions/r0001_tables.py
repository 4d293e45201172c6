"""The first tables: the archive with its passages and vectors, the outbox, facts, the working store, posting lists."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

ROWID = {"sqlite_strict": True}
CLUSTERED = {"sqlite_strict": True, "sqlite_with_rowid": False}


def upgrade() -> None:
    """Create everything. There is no way down: the copy made before an upgrade is the way back."""
    _owners()
    _archive()
    _vectors()
    _outbox()
    _permanent_memory()
    _working_memory()
    _posting_lists()


def _owners() -> None:
    op.create_table(
        "owner",
        _number("id", primary_key=True),
        _text("name"),
        _number("next_ord"),
        sa.UniqueConstraint("name"),
        **ROWID,
    )
    op.create_table(
        "chat",
        _number("id", primary_key=True),
        _number("owner_id", sa.ForeignKey("owner.id")),
        _text("name"),
        sa.UniqueConstraint("owner_id", "name"),
        **ROWID,
    )


def _archive() -> None:
    op.create_table("counter", _number("id", primary_key=True), _number("value"), **ROWID)
    op.execute("INSERT INTO counter (id, value) VALUES (1, 0)")
    op.create_table(
        "episode",
        _number("id", primary_key=True),
        _text("uid"),
        _number("seq"),
        _number("owner_id", sa.ForeignKey("owner.id")),
        _number("chat_id", sa.ForeignKey("chat.id")),
        _text("role"),
        _text("speaker"),
        _text("text"),
        _moment("at"),
        _moment("recorded_at"),
        _text("exchange_id"),
        _text("topic_id"),
        _text("tags"),
        _text("source"),
        _text("key", nullable=True),
        _text("meta"),
        sa.UniqueConstraint("uid"),
        sa.UniqueConstraint("seq"),
        sqlite_autoincrement=True,
        **ROWID,
    )
    op.create_index("episode_chat", "episode", ["owner_id", "chat_id", "id"])
    op.create_index("episode_exchange", "episode", ["owner_id", "exchange_id"])
    op.create_index("episode_at", "episode", ["owner_id", "at"])
    _partial_index("episode_delivery", "episode", ["owner_id", "source", "key"], '"key" IS NOT NULL', unique=True)
    op.create_table(
        "passage",
        _number("owner_id", sa.ForeignKey("owner.id"), primary_key=True),
        _number("ord", primary_key=True),
        _number("episode_id", sa.ForeignKey("episode.id")),
        _number("part"),
        _number("start"),
        _number("end"),
        **CLUSTERED,
    )
    op.create_index("passage_episode", "passage", ["episode_id"])
    op.create_table(
        "tombstone",
        _number("seq", primary_key=True, autoincrement=False),
        _number("owner_id", sa.ForeignKey("owner.id")),
        _number("episode_id"),
        _text("ords"),
        **ROWID,
    )


def _vectors() -> None:
    op.create_table(
        "emb_model",
        _number("id", primary_key=True),
        _text("name"),
        _number("cursor"),
        sa.UniqueConstraint("name"),
        **ROWID,
    )
    op.create_table(
        "emb",
        _number("owner_id", sa.ForeignKey("owner.id"), primary_key=True),
        _number("model_id", primary_key=True),
        _number("ord", primary_key=True),
        _blob("v"),
        **CLUSTERED,
    )
    op.create_table("follower", _text("name", primary_key=True), _number("cursor"), **CLUSTERED)


def _outbox() -> None:
    op.create_table(
        "outbox",
        _number("id", primary_key=True),
        _number("owner_id", sa.ForeignKey("owner.id")),
        _number("chat_id", sa.ForeignKey("chat.id")),
        _text("channel"),
        _text("text"),
        _number("episode_id", sa.ForeignKey("episode.id")),
        _moment("created"),
        _moment("done_at", nullable=True),
        sqlite_autoincrement=True,
        **ROWID,
    )
    _partial_index("outbox_pending", "outbox", ["chat_id", "channel", "id"], "done_at IS NULL")
    op.create_index("outbox_episode", "outbox", ["episode_id"])


def _permanent_memory() -> None:
    op.create_table(
        "fact",
        _number("id", primary_key=True),
        _number("owner_id", sa.ForeignKey("owner.id")),
        _text("key"),
        _text("value"),
        _moment("since"),
        _moment("until", nullable=True),
        _number("source_episode", nullable=True),
        **ROWID,
    )
    op.create_index("fact_history", "fact", ["owner_id", "key", "id"])
    _partial_index("fact_current", "fact", ["owner_id", "key"], "until IS NULL", unique=True)
    op.create_table(
        "identity",
        _number("id", primary_key=True),
        _number("owner_id", sa.ForeignKey("owner.id")),
        _text("text"),
        _moment("since"),
        _moment("until", nullable=True),
        **ROWID,
    )
    _partial_index("identity_current", "identity", ["owner_id"], "until IS NULL", unique=True)


def _working_memory() -> None:
    op.create_table(
        "kv",
        _text("key", primary_key=True),
        _text("body"),
        _number("version"),
        _moment("expires_at", nullable=True),
        **ROWID,
    )
    _partial_index("kv_expiry", "kv", ["expires_at"], "expires_at IS NOT NULL")
    op.create_table(
        "listing",
        _text("key", primary_key=True),
        _number("seq", primary_key=True),
        _text("body"),
        **CLUSTERED,
    )


def _posting_lists() -> None:
    op.create_table(
        "term",
        _number("id", primary_key=True),
        _number("owner"),
        _text("t"),
        sa.UniqueConstraint("owner", "t"),
        **ROWID,
    )
    op.create_table("post", _number("k", primary_key=True), _blob("data"), **ROWID)
    op.create_table("docmeta", _number("k", primary_key=True), _number("gen"), _blob("data"), **ROWID)
    op.create_index("docmeta_gen", "docmeta", ["gen"])
    op.create_table("forward", _number("k", primary_key=True), _blob("terms"), **ROWID)
    op.create_table(
        "label",
        _number("id", primary_key=True),
        _number("owner"),
        _text("t"),
        sa.UniqueConstraint("owner", "t"),
        sqlite_autoincrement=True,
        **ROWID,
    )


def _number(name: str, *constraints: sa.ForeignKey, **options: Any) -> sa.Column[int]:
    kind = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    return sa.Column(name, kind, *constraints, **{"nullable": False, **options})


def _text(name: str, **options: Any) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), **{"nullable": False, **options})


def _blob(name: str) -> sa.Column[bytes]:
    return sa.Column(name, sa.LargeBinary(), nullable=False)


def _moment(name: str, *, nullable: bool = False) -> sa.Column[float]:
    """Seconds since 1970 in UTC."""
    return sa.Column(name, sa.Double().with_variant(sa.REAL(), "sqlite"), nullable=nullable)


def _partial_index(name: str, table: str, columns: list[str], where: str, *, unique: bool = False) -> None:
    condition = sa.text(where)
    op.create_index(name, table, columns, unique=unique, sqlite_where=condition, postgresql_where=condition)
