"""The tables of a home, as SQLAlchemy Core sees them. The migrations create them; a test holds the two together.

Every table that belongs to somebody carries the owner's number in its key. Times are seconds since 1970 in UTC.
"""

from __future__ import annotations

from sqlalchemy import (
    REAL,
    Column,
    Double,
    ForeignKey,
    Index,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    literal_column,
)

from goat.adapters.journal.columns import CLUSTERED, ROWID, JsonText, Moment, Number, metadata

owner = Table(
    "owner",
    metadata,
    Column("id", Number, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    # The next passage number; it never goes back, so a number never names two passages.
    Column("next_ord", Number, nullable=False),
    **ROWID,
)

chat = Table(
    "chat",
    metadata,
    Column("id", Number, primary_key=True),
    Column("owner_id", Number, ForeignKey("owner.id"), nullable=False),
    Column("name", Text, nullable=False),
    UniqueConstraint("owner_id", "name"),
    **ROWID,
)

# One row: the newest `seq`. It is raised in the transaction of the change, so changes are numbered as they commit.
counter = Table(
    "counter",
    metadata,
    Column("id", Number, primary_key=True),
    Column("value", Number, nullable=False),
    **ROWID,
)

episode = Table(
    "episode",
    metadata,
    Column("id", Number, primary_key=True),
    Column("uid", Text, nullable=False, unique=True),
    Column("seq", Number, nullable=False, unique=True),
    Column("owner_id", Number, ForeignKey("owner.id"), nullable=False),
    Column("chat_id", Number, ForeignKey("chat.id"), nullable=False),
    Column("role", Text, nullable=False),
    Column("speaker", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("at", Moment, nullable=False),
    Column("recorded_at", Moment, nullable=False),
    Column("exchange_id", Text, nullable=False),
    Column("topic_id", Text, nullable=False),
    Column("tags", JsonText, nullable=False),
    Column("source", Text, nullable=False),
    Column("key", Text),
    Column("meta", JsonText, nullable=False),
    sqlite_autoincrement=True,  # ids are never used again
    **ROWID,
)
Index("episode_chat", episode.c.owner_id, episode.c.chat_id, episode.c.id)
Index("episode_exchange", episode.c.owner_id, episode.c.exchange_id)
Index("episode_at", episode.c.owner_id, episode.c.at)
Index(
    "episode_delivery",
    episode.c.owner_id,
    episode.c.source,
    episode.c.key,
    unique=True,
    sqlite_where=episode.c.key.is_not(None),
    postgresql_where=episode.c.key.is_not(None),
)

passage = Table(
    "passage",
    metadata,
    Column("owner_id", Number, ForeignKey("owner.id"), primary_key=True),
    Column("ord", Number, primary_key=True),
    Column("episode_id", Number, ForeignKey("episode.id"), nullable=False),
    Column("part", Number, nullable=False),
    Column("start", Number, nullable=False),
    Column("end", Number, nullable=False),
    **CLUSTERED,
)
Index("passage_episode", passage.c.episode_id)

# What was forgotten, so that the indexes can follow: the numbers of the passages, nothing of the words.
tombstone = Table(
    "tombstone",
    metadata,
    Column("seq", Number, primary_key=True, autoincrement=False),
    Column("owner_id", Number, ForeignKey("owner.id"), nullable=False),
    Column("episode_id", Number, nullable=False),
    Column("ords", JsonText, nullable=False),
    **ROWID,
)

# Hashes of what was forgotten, so that a redelivery or an import does not bring it back.
forgotten = Table(
    "forgotten",
    metadata,
    Column("owner_id", Number, ForeignKey("owner.id"), primary_key=True),
    Column("mark", Text, primary_key=True),
    Column("episode_id", Number, nullable=False),
    **CLUSTERED,
)

# The tombstones of which an index, the working store or a file may still hold something.
unfinished = Table(
    "unfinished",
    metadata,
    Column("seq", Number, ForeignKey("tombstone.seq"), primary_key=True, autoincrement=False),
    Column("chat_id", Number, ForeignKey("chat.id"), nullable=False),
    **ROWID,
)

# How often an episode was recalled for an answer; no index follows it.
recalled = Table(
    "recalled",
    metadata,
    Column("owner_id", Number, ForeignKey("owner.id"), primary_key=True),
    Column("episode_id", Number, ForeignKey("episode.id"), primary_key=True),
    Column("count", Number, nullable=False),
    Column("last", Moment, nullable=False),
    **CLUSTERED,
)

# The episodes whose meta lacks what is to be noted about them.
to_enrich = Table(
    "to_enrich",
    metadata,
    Column("episode_id", Number, ForeignKey("episode.id"), primary_key=True, autoincrement=False),
    **ROWID,
)

emb_model = Table(
    "emb_model",
    metadata,
    Column("id", Number, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("cursor", Number, nullable=False),
    **ROWID,
)

emb = Table(
    "emb",
    metadata,
    Column("owner_id", Number, ForeignKey("owner.id"), primary_key=True),
    Column("model_id", Number, primary_key=True),
    Column("ord", Number, primary_key=True),
    Column("v", LargeBinary, nullable=False),  # float16, little-endian
    **CLUSTERED,
)

# How far each index has followed the journal.
follower = Table(
    "follower",
    metadata,
    Column("name", Text, primary_key=True),
    Column("cursor", Number, nullable=False),
    **CLUSTERED,
)

# What is said to a person. A reply that is done has no words any more: its episode has them, or nobody needs them.
outbox = Table(
    "outbox",
    metadata,
    Column("id", Number, primary_key=True),
    Column("owner_id", Number, ForeignKey("owner.id"), nullable=False),
    Column("chat_id", Number, ForeignKey("chat.id"), nullable=False),
    Column("channel", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("extra", JsonText, nullable=False),
    Column("episode_id", Number, ForeignKey("episode.id")),
    Column("created", Moment, nullable=False),
    Column("done_at", Moment),
    Column("outcome", Text),
    Column("reason", Text),
    Column("key", Text),
    sqlite_autoincrement=True,
    **ROWID,
)
Index("outbox_said", outbox.c.channel, outbox.c.key, unique=True, sqlite_where=outbox.c.key.is_not(None))
Index(
    "outbox_pending",
    outbox.c.chat_id,
    outbox.c.channel,
    outbox.c.id,
    sqlite_where=outbox.c.done_at.is_(None),
    postgresql_where=outbox.c.done_at.is_(None),
)
Index(
    "outbox_trouble",
    outbox.c.channel,
    outbox.c.done_at,
    sqlite_where=outbox.c.outcome != literal_column("'delivered'"),
    postgresql_where=outbox.c.outcome != literal_column("'delivered'"),
)
Index("outbox_episode", outbox.c.episode_id)

# The parts of a pending reply that were begun.
delivery = Table(
    "delivery",
    metadata,
    Column("outbox_id", Number, ForeignKey("outbox.id", ondelete="CASCADE"), primary_key=True),
    Column("part", Number, primary_key=True),
    Column("state", Text, nullable=False),
    Column("message", Number),
    **CLUSTERED,
)

# The messages that show an answer while it is written.
preview = Table(
    "preview",
    metadata,
    Column("chat_id", Number, ForeignKey("chat.id"), primary_key=True),
    Column("channel", Text, primary_key=True),
    Column("turn", Text, nullable=False),
    Column("message", Number, nullable=False),
    **CLUSTERED,
)

fact = Table(
    "fact",
    metadata,
    Column("id", Number, primary_key=True),
    Column("owner_id", Number, ForeignKey("owner.id"), nullable=False),
    Column("key", Text, nullable=False),
    Column("value", Text, nullable=False),
    Column("since", Moment, nullable=False),
    Column("until", Moment),
    Column("source_episode", Number),
    **ROWID,
)
Index("fact_history", fact.c.owner_id, fact.c.key, fact.c.id)
Index(
    "fact_current",
    fact.c.owner_id,
    fact.c.key,
    unique=True,
    sqlite_where=fact.c.until.is_(None),
    postgresql_where=fact.c.until.is_(None),
)

identity = Table(
    "identity",
    metadata,
    Column("id", Number, primary_key=True),
    Column("owner_id", Number, ForeignKey("owner.id"), nullable=False),
    Column("text", Text, nullable=False),
    Column("since", Moment, nullable=False),
    Column("until", Moment),
    **ROWID,
)
Index(
    "identity_current",
    identity.c.owner_id,
    unique=True,
    sqlite_where=identity.c.until.is_(None),
    postgresql_where=identity.c.until.is_(None),
)

kv = Table(
    "kv",
    metadata,
    Column("key", Text, primary_key=True),
    Column("body", Text, nullable=False),
    Column("version", Number, nullable=False),
    Column("expires_at", Moment),
    **ROWID,
)
Index(
    "kv_expiry",
    kv.c.expires_at,
    sqlite_where=kv.c.expires_at.is_not(None),
    postgresql_where=kv.c.expires_at.is_not(None),
)

listing = Table(
    "listing",
    metadata,
    Column("key", Text, primary_key=True),
    Column("seq", Number, primary_key=True),
    Column("body", Text, nullable=False),
    **CLUSTERED,
)

# A model call that used something. `day` is the date at the owner's place, as 2026-03-02; a cost may be unknown.
model_call = Table(
    "model_call",
    metadata,
    Column("id", Number, primary_key=True),
    Column("owner_id", Number, ForeignKey("owner.id"), nullable=False),
    Column("chat_id", Number, ForeignKey("chat.id"), nullable=False),
    Column("exchange_id", Text, nullable=False),
    Column("at", Moment, nullable=False),
    Column("day", Text, nullable=False),
    Column("provider", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("prompt_tokens", Number, nullable=False),
    Column("cached_tokens", Number, nullable=False),
    Column("completion_tokens", Number, nullable=False),
    Column("cost_usd", Double().with_variant(REAL(), "sqlite")),
    Column("estimated", Number, nullable=False),
    **ROWID,
)
Index("model_call_day", model_call.c.day)
Index("model_call_exchange", model_call.c.owner_id, model_call.c.exchange_id)

# What was asked before a tool acted, and how it ended: the call with secrets blacked out, and the hash of the whole.
approval = Table(
    "approval",
    metadata,
    Column("id", Number, primary_key=True),
    Column("owner_id", Number, ForeignKey("owner.id"), nullable=False),
    Column("chat_id", Number, ForeignKey("chat.id"), nullable=False),
    Column("tool", Text, nullable=False),
    Column("shown", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("once", Number, nullable=False),
    Column("asked_at", Moment, nullable=False),
    Column("expires_at", Moment, nullable=False),
    Column("verdict", Text),
    Column("closed_at", Moment),
    sqlite_autoincrement=True,
    **ROWID,
)
Index("approval_tool", approval.c.owner_id, approval.c.tool)
Index(
    "approval_waiting",
    approval.c.id,
    sqlite_where=approval.c.verdict.is_(None),
    postgresql_where=approval.c.verdict.is_(None),
)

# The posting lists; the lexical index says what their blobs hold.
term = Table(
    "term",
    metadata,
    Column("id", Number, primary_key=True),
    Column("owner", Number, nullable=False),
    Column("t", Text, nullable=False),
    UniqueConstraint("owner", "t"),
    **ROWID,
)

post = Table(
    "post",
    metadata,
    Column("k", Number, primary_key=True),
    Column("data", LargeBinary, nullable=False),
    **ROWID,
)

docmeta = Table(
    "docmeta",
    metadata,
    Column("k", Number, primary_key=True),
    Column("gen", Number, nullable=False),
    Column("data", LargeBinary, nullable=False),
    **ROWID,
)
Index("docmeta_gen", docmeta.c.gen)

# The terms of each passage, so that a deletion finds its postings; and the strings of the passage columns.
forward = Table(
    "forward",
    metadata,
    Column("k", Number, primary_key=True),
    Column("terms", LargeBinary, nullable=False),
    **ROWID,
)

label = Table(
    "label",
    metadata,
    Column("id", Number, primary_key=True),
    Column("owner", Number, nullable=False),
    Column("t", Text, nullable=False),
    UniqueConstraint("owner", "t"),
    sqlite_autoincrement=True,
    **ROWID,
)
