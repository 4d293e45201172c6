"""Memory as plain text, for every front door."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo
from typing import Final

from goat.memory.forget import Forgot, Plan
from goat.memory.overview import Digest, FactStory, Topic
from goat.memory.undo import IDENTITY, Undone
from goat.records.episodes import Episode, Role
from goat.records.search import Recalled
from goat.records.turns import TurnResult

SHOWN: Final = 20
"""Lines of a list that is only to be looked over."""

EXCERPT: Final = 100
"""Characters of a message in a list."""


def stamp(at: datetime, zone: tzinfo) -> str:
    """A time as a person reads it."""
    return f"{at.astimezone(zone):%Y-%m-%d %H:%M}"


def excerpt(text: str, length: int = EXCERPT) -> str:
    """A message on one line."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def speaker(episode: Episode) -> str:
    """Who said it."""
    return episode.speaker or ("you" if episode.role is Role.USER else "GOAT")


def facts(stories: Sequence[FactStory], zone: tzinfo) -> str:
    """The facts with what they were before."""
    if not stories:
        return "No facts are kept. What was said is found by `goat search` all the same."
    return "\n".join(line for story in stories for line in _story(story, zone))


def topics(found: Sequence[Topic], zone: tzinfo) -> str:
    """The newest topics."""
    if not found:
        return "No topics yet."
    lines = [
        f"{stamp(t.first, zone)} to {stamp(t.last, zone)}, {t.messages} messages in {t.chat}: {excerpt(t.opening)}"
        for t in found[:SHOWN]
    ]
    return "\n".join([*lines, *_more(len(found))])


def plan(found: Plan, zone: tzinfo) -> str:
    """What would be forgotten."""
    lines = [f"{_count(len(found.episodes), 'message')}:"] if found.episodes else []
    lines += [_episode(episode, zone) for episode in found.meant]
    lines += [f"{_episode(episode, zone)} (quotes it)" for episode in found.quoting]
    if found.values.facts:
        lines.append(f"{_count(len(found.values.facts), 'value')} of facts, those of the past included:")
        lines += [f"  {fact.key}: {excerpt(fact.value)}" for fact in found.values.facts]
    if found.values.identities:
        lines.append(f"{_count(len(found.values.identities), 'identity text')}:")
        lines += [f"  {excerpt(text.text)}" for text in found.values.identities]
    return "\n".join(lines)


def forgot(done: Forgot) -> str:
    """What was forgotten."""
    told = (
        f"Forgotten for good: {_count(done.episodes, 'message')}, {_count(done.values, 'value')} of facts and identity."
    )
    if done.unfinished is None:
        return f"{told} No file of the data folder holds any of it; exports and backups that you made do."
    return f"{told} Not finished ({done.unfinished.reason}); the next start finishes it."


def undone(what: Undone | None) -> str:
    """What an undo did."""
    if what is None:
        return "There is no change of a fact or of the identity to undo. What was forgotten cannot be brought back."
    name = "the identity" if what.key == IDENTITY else what.key
    nothing = "the configured text" if what.key == IDENTITY else "nothing"
    return f"Undone: {name} is {_quoted(what.back, nothing)} again; it was {_quoted(what.went, nothing)}."


def why(result: TurnResult | None, zone: tzinfo) -> str:
    """What was recalled for the last answer, from where, with its scores."""
    if result is None or result.record is None:
        return "Nothing was answered yet in this conversation."
    record = result.record
    served = {"reflex": "searched for this message", "held": "held from the search after the last answer"}
    how = served.get(record.served_by, record.served_by)
    head = f"Thread: {record.state}. Recalled: {len(result.recalled)} of {record.results_found} found, {how}."
    lost = [f"Searched without: {', '.join(record.lost)}."] if record.lost else []
    return "\n".join([head, *lost, *(_recalled(one, zone) for one in result.recalled)])


def digest(what: Digest, zone: tzinfo) -> str:
    """Everything at a glance."""
    parts = [f"What GOAT knows about {what.owner}", "", f"Messages: {what.messages:,}"]
    if what.speakers:
        parts.append("By speaker: " + ", ".join(f"{name} {count:,}" for name, count in what.speakers[:SHOWN]))
        parts.append("By source: " + ", ".join(f"{name} {count:,}" for name, count in what.sources[:SHOWN]))
    current = [text.text for text in what.identities if text.until is None]
    parts += ["", "Identity: " + (excerpt(current[0], 400) if current else "the configured text")]
    parts += ["", f"Facts ({len(what.facts)})", facts(what.facts, zone)]
    parts += ["", f"Conversations ({len(what.conversations)})"]
    parts += [
        f"{one.chat}: {one.messages:,} messages, {stamp(one.first, zone)} to {stamp(one.last, zone)}"
        for one in what.conversations[:SHOWN]
    ]
    parts += _more(len(what.conversations))
    return "\n".join([*parts, "", f"Topics ({len(what.topics)})", topics(what.topics, zone)])


def _story(story: FactStory, zone: tzinfo) -> Iterable[str]:
    yield f"{story.fact.key}: {story.fact.value} (since {stamp(story.fact.since, zone)}{_from(story)})"
    for old in story.before:
        until = f" to {stamp(old.until, zone)}" if old.until else ""
        yield f"    before: {old.value} ({stamp(old.since, zone)}{until})"


def _from(story: FactStory) -> str:
    number = story.fact.source_episode
    return "" if number is None else f", from message {number}"


def _episode(episode: Episode, zone: tzinfo) -> str:
    return f"  {episode.id}  {stamp(episode.at, zone)}  {speaker(episode)}: {excerpt(episode.text)}"


def _recalled(result: Recalled, zone: tzinfo) -> str:
    parts = "  ".join(f"{name} {value:.2f}" for name, value in result.parts.items() if value)
    by = ", ".join(result.mechanisms)
    return (
        f"{result.relevance:4.0%} {_episode(result.episode, zone)}\n       by {by}; score {result.score:.2f} = {parts}"
    )


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count:,} {what}s"


def _more(count: int) -> list[str]:
    return [f"… and {count - SHOWN} more"] if count > SHOWN else []


def _quoted(value: str | None, nothing: str) -> str:
    return nothing if value is None else f"“{excerpt(value)}”"
