"""The prompt of a turn, and what of memory fits into it.

    system      L0 identity, L1 facts, how to read the data message: the same bytes until one of them changes
    L2          the conversation as real messages, with gaps marked by dates that never change
    data        the present time and the recalled episodes: quoted, dated, numbered
    user        the new message

Everything before the data message equals the prompt of the turn before plus its exchange, so provider caches hit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from importlib.resources import files
from itertools import pairwise

from goat.ports.models import TokenCounter
from goat.records.episodes import Episode, Role, Span, as_said
from goat.records.memory import Fact, HistoryMessage
from goat.records.models import ChatMessage, ToolSpec
from goat.records.search import Recalled
from goat.retrieval.copies import said_again
from goat.retrieval.times import asked_first
from goat.retrieval.when import Window
from goat.settings.sections import RetrievalBudgetSettings
from goat.turn.budget import clip, fit_history, split
from goat.turn.excerpt import LONG_TOKENS, excerpt

LEFT_OUT = "[earlier messages are left out here]\n"

MESSAGE_OVERHEAD = 4
"""Tokens that a chat message costs beside its text."""


@dataclass(frozen=True, slots=True)
class Material:
    """What a prompt is made from. `recalled` comes best first and was found for `recalled_for`. `speaker` says whose
    message it is where several people talk.

    `windows` are the times that the message names: what was said then stands in front, and more of it is shown.
    `excerpts` says, by episode id, which part of a long message is quoted; of another one it is the beginning.
    """

    text: str
    identity: str
    facts: Sequence[Fact]
    history: Sequence[HistoryMessage]
    recalled: Sequence[Recalled]
    partners: Mapping[int, Sequence[Episode]]
    recalled_for: str
    now: datetime
    zone: tzinfo
    windows: Sequence[Window] = ()
    speaker: str = ""
    excerpts: Mapping[int, Span] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages, the recalled episodes that stand in them, and the tokens of each layer."""

    messages: tuple[ChatMessage, ...]
    shown: tuple[Recalled, ...]
    layer_tokens: Mapping[str, int]

    @property
    def history(self) -> int:
        """How many of the messages, behind the first, are the conversation so far."""
        return len(self.messages) - 3

    @property
    def tokens(self) -> int:
        """The estimate for the whole prompt."""
        return sum(self.layer_tokens.values())


class PromptBuilder:
    """Assembles prompts within a token budget."""

    def __init__(
        self, counter: TokenCounter, shares: RetrievalBudgetSettings, header: str, gap_seconds: float, hard_cap: int
    ) -> None:
        self._counter = counter
        self._shares = shares
        self._header = header
        self._gap = timedelta(seconds=gap_seconds)
        self._hard_cap = hard_cap
        self._guidance = files("goat.turn").joinpath("data/guidance.md").read_text(encoding="utf-8").strip()

    def build(self, material: Material, budget: int) -> Prompt:
        """The prompt for a message. No part exceeds its share; what is too long is cut with a mark.

        The message itself comes first: it may use up to half of the hard cap, and memory gets what is left of the
        budget, but never less than L3's guarantee and L2's floor. What was said at a named time comes first; as far as
        it needs it, L3 gets the wider guarantee, and the budget grows by as much, up to the hard cap.
        """
        shares = self._shares
        recalled, from_then = asked_first(material.recalled, material.windows)
        blocks = [self._block(result, material) for result in recalled]
        costs = [self._counter.count(f"{_numbered(number, block)}\n") for number, block in enumerate(blocks, start=1)]
        needed = sum(costs[:from_then])
        guaranteed = max(shares.l3_min_guarantee_tokens, min(needed, shares.temporal_l3_guarantee_tokens))
        budget = min(budget + guaranteed - shares.l3_min_guarantee_tokens, self._hard_cap)
        text = clip(as_said(material.speaker, material.text), self._hard_cap // 2, self._counter)
        system = clip(self._system(material), self._hard_cap // 4, self._counter)
        opening = self._opening(material)
        cost = {"message": self._cost(text), "system": self._cost(system), "data": self._cost(opening)}
        available = max(budget - sum(cost.values()), shares.l3_min_guarantee_tokens + shares.l2_floor_tokens)
        share = split(available, 0, sum(costs), guaranteed, shares.l2_floor_tokens)
        history = self._history(material, share.history)
        cost["L2"] = sum(self._cost(message.content) for message in history)
        packed = self._pack(blocks, costs, available - cost["L2"])
        quoted = "\n".join(packed.values())
        cost["L3"] = self._counter.count(quoted)
        data = ChatMessage("user", "\n".join([opening, quoted]) if packed else opening)
        messages = (ChatMessage("system", system), *history, data, ChatMessage("user", text))
        return Prompt(messages, tuple(recalled[place] for place in packed), cost)

    def long(self, results: Sequence[Recalled]) -> list[Recalled]:
        """The results of whose message only a part is quoted."""
        return [result for result in results if self._is_long(result.episode.text)]

    def with_tools(self, prompt: Prompt, offered: Sequence[ToolSpec]) -> Prompt:
        """The same prompt with the tokens of the tools that the model is told of, as JSON, among its layers."""
        if not offered:
            return prompt
        described = json.dumps([asdict(tool) for tool in offered], ensure_ascii=False, default=dict)
        return replace(prompt, layer_tokens={**prompt.layer_tokens, "tools": self._counter.count(described)})

    def _cost(self, text: str) -> int:
        return self._counter.count(text) + MESSAGE_OVERHEAD

    def _system(self, material: Material) -> str:
        parts = [material.identity.strip()]
        if material.facts:
            parts.append("Known facts:\n" + "\n".join(f"- {fact.key}: {fact.value}" for fact in material.facts))
        parts.append(self._guidance.replace("{header}", self._header))
        return "\n\n".join(parts)

    def _opening(self, material: Material) -> str:
        local = material.now.astimezone(material.zone)
        lines = [f"Current time: {local:%A, %Y-%m-%d %H:%M} ({_zone_name(local)})"]
        if material.history:
            lines.append(f"Last message: {_age(material.now - material.history[-1].at)}")
        if material.recalled:
            asked = " ".join(material.recalled_for.split())
            lines += ["", self._header, f'Found for: "{clip(asked, 60, self._counter)}"']
        return "\n".join(lines)

    def _history(self, material: Material, tokens: int) -> tuple[ChatMessage, ...]:
        """The conversation within `tokens`, marks of time and of what was left out included."""
        said = [replace(one, text=as_said(one.speaker, one.text)) for one in material.history]
        pauses = {one.episode_id for before, one in pairwise(said) if one.at - before.at >= self._gap}
        mark_cost = self._counter.count(f"[{_stamp(material.now, material.zone)}]\n")
        reserve = min((len(pauses) + 2) * mark_cost + self._counter.count(LEFT_OUT), tokens // 2)
        kept = fit_history(said, tokens - reserve, self._counter, MESSAGE_OVERHEAD)
        shown = []
        left_out, dated = False, True
        for message in kept:
            left_out |= message.after_gap
            dated |= message.after_gap or message.episode_id in pauses
            if message.role is Role.ASSISTANT:  # marks in its own words would be imitated
                shown.append(ChatMessage("assistant", message.text))
                continue
            date = f"[{_stamp(message.at, material.zone)}]\n" if dated else ""
            shown.append(ChatMessage("user", (LEFT_OUT if left_out else "") + date + message.text))
            left_out = dated = False
        return tuple(shown)

    def _pack(self, blocks: Sequence[str], costs: Sequence[int], tokens: int) -> dict[int, str]:
        """The blocks that fit, by their places, each numbered as it stands among them.

        One that does not fit is left out and gives its room to those behind it; the first is cut rather than left out,
        and leaves them half. Each was counted by itself, which is exact but for what a tokenizer joins or parts where
        two of them meet.
        """
        packed: dict[int, str] = {}
        spent = 0
        for place, (block, cost) in enumerate(zip(blocks, costs, strict=True)):
            shown = _numbered(len(packed) + 1, block)
            if place == 0 and cost > tokens:
                shown = clip(shown, tokens // 2 if len(blocks) > 1 else tokens, self._counter)
                cost = self._counter.count(f"{shown}\n")
            if shown and spent + cost <= tokens:
                packed[place] = shown
                spent += cost
        while len(packed) > 1 and self._counter.count("\n".join(packed.values())) > tokens:
            packed.popitem()
        return packed

    def _block(self, result: Recalled, material: Material) -> str:
        """One recalled episode and the rest of its exchange, in the order in which they were said."""
        together = sorted([result.episode, *material.partners.get(result.episode.id, ())], key=lambda e: e.id)
        lines = []
        for episode in together:
            text = episode.text
            if self._is_long(text):
                text = excerpt(text, material.excerpts.get(episode.id))
            again = (
                f", {said_again(result, material.zone)}" if result.copies and episode.id == result.episode.id else ""
            )
            lines.append(f"   {_stamp(episode.at, material.zone)}, {_who(episode)}{again}:")
            lines += [f"> {line}" for line in text.splitlines() or [""]]
        return "\n".join(lines)

    def _is_long(self, text: str) -> bool:
        return self._counter.count(text) > LONG_TOKENS


def _numbered(number: int, block: str) -> str:
    return f"{number}.{block.removeprefix('  ')}"


def _who(episode: Episode) -> str:
    if episode.speaker:
        return episode.speaker
    return "the person" if episode.role is Role.USER else "you"


def _stamp(at: datetime, zone: tzinfo) -> str:
    return f"{at.astimezone(zone):%Y-%m-%d %H:%M}"


def _age(passed: timedelta) -> str:
    """How long ago in words. Only the data message says it: in the conversation it would change the bytes each turn."""
    seconds = max(passed.total_seconds(), 0.0)
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def _zone_name(local: datetime) -> str:
    return str(getattr(local.tzinfo, "key", "") or local.tzname() or local.tzinfo)
