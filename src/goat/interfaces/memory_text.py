"""Memory as plain text, for every front door."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo
from typing import Final

from goat.interfaces.texts import Texts
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

_MARKS: Final = re.compile(r"(?<![\w*`~])(\*\*|~~|`+)(?=\S)(.+?)(?<=\S)\1(?![\w*`~])")


def stamp(at: datetime, zone: tzinfo) -> str:
    """A time as a person reads it."""
    return f"{at.astimezone(zone):%Y-%m-%d %H:%M}"


def excerpt(text: str, length: int = EXCERPT) -> str:
    """A message on one line."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def as_read(episode: Episode) -> str:
    """The words of a message without the marks of Markdown that an answer has."""
    return _MARKS.sub(r"\2", episode.text) if episode.role is Role.ASSISTANT else episode.text


class MemoryText:
    """Tells what memory holds, in the language of `say` and with the times of `zone`."""

    def __init__(self, say: Texts, zone: tzinfo) -> None:
        self._say = say
        self._zone = zone

    def speaker(self, episode: Episode) -> str:
        """Who said it."""
        return episode.speaker or (self._say("memory.you") if episode.role is Role.USER else "GOAT")

    def facts(self, stories: Sequence[FactStory]) -> str:
        """The facts with what they were before."""
        if not stories:
            return self._say("memory.no_facts")
        return "\n".join(line for story in stories for line in self._story(story))

    def topics(self, found: Sequence[Topic]) -> str:
        """The newest topics."""
        if not found:
            return self._say("memory.no_topics")
        lines = [
            self._say(
                "memory.topic",
                first=self._at(topic.first),
                last=self._at(topic.last),
                messages=self._say("memory.messages", n=topic.messages),
                chat=topic.chat,
                opening=excerpt(topic.opening),
            )
            for topic in found[:SHOWN]
        ]
        return "\n".join([*lines, *self._more(len(found))])

    def plan(self, found: Plan) -> str:
        """What would be forgotten."""
        say = self._say
        lines = [say("memory.messages", n=len(found.episodes)) + ":"] if found.episodes else []
        lines += [self._episode(episode) for episode in found.meant]
        lines += [say("memory.quoting", message=self._episode(episode)) for episode in found.quoting]
        if found.values.facts:
            lines.append(say("memory.plan_facts", n=len(found.values.facts)))
            lines += [f"  {fact.key}: {excerpt(fact.value)}" for fact in found.values.facts]
        if found.values.identities:
            lines.append(say("memory.plan_identities", n=len(found.values.identities)))
            lines += [f"  {excerpt(text.text)}" for text in found.values.identities]
        return "\n".join(lines)

    def forgot(self, done: Forgot) -> str:
        """What was forgotten."""
        messages = self._say("memory.messages", n=done.episodes)
        told = self._say("memory.forgot", messages=messages, values=self._say("memory.values", n=done.values))
        if done.unfinished is not None:
            return f"{told} {self._say('memory.unfinished', reason=done.unfinished.reason)}"
        if done.put_aside:
            return f"{told} {self._say('memory.put_aside', folders=', '.join(done.put_aside))}"
        return f"{told} {self._say('memory.nowhere')}"

    def undone(self, what: Undone | None) -> str:
        """What an undo did."""
        if what is None:
            return self._say("memory.no_undo")
        name = self._say("memory.the_identity") if what.key == IDENTITY else what.key
        nothing = self._say("memory.configured_text" if what.key == IDENTITY else "memory.nothing")
        return self._say("memory.undone", name=name, back=_quoted(what.back, nothing), went=_quoted(what.went, nothing))

    def why(self, result: TurnResult | None) -> str:
        """What was recalled for the last answer, from where, with its scores."""
        if result is None or result.record is None:
            return self._say("memory.no_answer")
        record = result.record
        served = {"reflex": "memory.by_reflex", "held": "memory.by_held", "nothing": "memory.by_nothing"}
        head = self._say(
            "memory.why",
            state=self._say(f"thread.{record.state}"),
            used=len(result.recalled),
            found=record.results_found,
            how=self._say(served[record.served_by]),
        )
        lost = [self._say("memory.searched_without", lost=", ".join(record.lost))] if record.lost else []
        return "\n".join([head, *lost, *(self._recalled(one) for one in result.recalled)])

    def digest(self, what: Digest, name: str = "") -> str:
        """Everything at a glance; with `name`, of whom, as the person is called rather than as the owner is."""
        say = self._say
        parts = [say("memory.digest", owner=name or what.owner), "", say("memory.count", n=what.messages)]
        if what.speakers:
            parts.append(say("memory.by_speaker", counts=self._counts(self._named(what.speakers))))
            parts.append(say("memory.by_source", counts=self._counts(what.sources)))
        current = [text.text for text in what.identities if text.until is None]
        identity = excerpt(current[0], 400) if current else say("memory.configured_text")
        parts += ["", say("memory.identity", text=identity)]
        parts += ["", say("memory.facts", n=len(what.facts)), self.facts(what.facts)]
        parts += ["", say("memory.conversations", n=len(what.conversations))]
        parts += [
            say(
                "memory.conversation",
                chat=one.chat,
                messages=say("memory.messages", n=one.messages),
                first=self._at(one.first),
                last=self._at(one.last),
            )
            for one in what.conversations[:SHOWN]
        ]
        parts += self._more(len(what.conversations))
        return "\n".join([*parts, "", say("memory.topics", n=len(what.topics)), self.topics(what.topics)])

    def _at(self, at: datetime) -> str:
        return stamp(at, self._zone)

    def _named(self, speakers: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
        """The speakers with a word for the person, whose messages have no name."""
        return [(name or self._say("memory.you"), count) for name, count in speakers]

    def _counts(self, counts: Sequence[tuple[str, int]]) -> str:
        return ", ".join(f"{name} {self._say.number(count)}" for name, count in counts[:SHOWN])

    def _story(self, story: FactStory) -> Iterable[str]:
        number = story.fact.source_episode
        source = "" if number is None else self._say("memory.from_message", number=str(number))
        since = self._say("memory.since", at=self._at(story.fact.since))
        yield f"{story.fact.key}: {story.fact.value} ({since}{source})"
        for old in story.before:
            until = self._say("memory.until", at=self._at(old.until)) if old.until else ""
            yield f"    {self._say('memory.before')}: {old.value} ({self._at(old.since)}{until})"

    def _episode(self, episode: Episode) -> str:
        return f"  {episode.id}  {self._at(episode.at)}  {self.speaker(episode)}: {excerpt(as_read(episode))}"

    def _recalled(self, result: Recalled) -> str:
        parts = "  ".join(f"{name} {value:.2f}" for name, value in result.parts.items() if value)
        score = self._say("memory.score", by=", ".join(result.mechanisms), score=f"{result.score:.2f}", parts=parts)
        return f"{result.relevance:4.0%} {self._episode(result.episode)}\n       {score}"

    def _more(self, count: int) -> list[str]:
        return [self._say("memory.more", n=count - SHOWN)] if count > SHOWN else []


def _quoted(value: str | None, nothing: str) -> str:
    return nothing if value is None else f"“{excerpt(value)}”"
