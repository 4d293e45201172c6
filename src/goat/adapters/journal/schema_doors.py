"""The tables of the front doors, as SQLAlchemy Core sees them: what arrived, and who may use a door."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, LargeBinary, Table, Text, UniqueConstraint

from goat.adapters.journal.columns import CLUSTERED, ROWID, Moment, Number, metadata

# Deliveries. A body is dropped when its handling ended, so that what is forgotten elsewhere does not stand here.
inbox = Table(
    "inbox",
    metadata,
    Column("id", Number, primary_key=True),
    Column("channel", Text, nullable=False),
    Column("number", Number, nullable=False),
    Column("body", Text),
    Column("arrived", Moment, nullable=False),
    Column("tries", Number, nullable=False),
    Column("turn", Number),
    Column("outcome", Text),
    Column("done_at", Moment),
    UniqueConstraint("channel", "number"),
    sqlite_autoincrement=True,
    **ROWID,
)
Index(
    "inbox_waiting",
    inbox.c.channel,
    inbox.c.id,
    sqlite_where=inbox.c.done_at.is_(None),
    postgresql_where=inbox.c.done_at.is_(None),
)
Index(
    "inbox_done",
    inbox.c.channel,
    inbox.c.done_at,
    sqlite_where=inbox.c.done_at.is_not(None),
    postgresql_where=inbox.c.done_at.is_not(None),
)

admission = Table(
    "admission",
    metadata,
    Column("channel", Text, primary_key=True),
    Column("number", Number, primary_key=True),
    Column("role", Text, nullable=False),
    Column("owner_id", Number, ForeignKey("owner.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("since", Moment, nullable=False),
    **CLUSTERED,
)

# Codes that let people in: salted hashes, each good for one use before it expires.
invitation = Table(
    "invitation",
    metadata,
    Column("id", Number, primary_key=True),
    Column("channel", Text, nullable=False),
    Column("salt", LargeBinary, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("role", Text, nullable=False),
    Column("expires", Moment, nullable=False),
    Column("closed", Text),
    sqlite_autoincrement=True,
    **ROWID,
)
