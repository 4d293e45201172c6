"""`goat bench thread-diagram`: one real thread, drawn from a run of its turns.

The diagram is Mermaid text inside Markdown: a box for each turn, with its state and what served it, grouped by topic.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from goat.bench.dialogue import Played, Say, play
from goat.bench.dialogue_data import own_dialogues
from goat.bench.report import Figure

COLOURS = {"cold": "#cfe3ff", "warm": "#ffd9b3", "drift": "#e6f5c9"}


def run(say: Say) -> list[Played]:
    """Play the first shipped dialogue with the reflex on `auto`."""
    return asyncio.run(play(own_dialogues()[:1], ["auto"], say))


def figures(played: Sequence[Played]) -> list[Figure]:
    """How many turns the drawn dialogue has, of which state, on how many topics, and the evidence in their prompts."""
    states = [Figure(f"turns, {state}", sum(one.record.state == state for one in played), "turns") for state in COLOURS]
    shares = [one.in_prompt for one in played]
    return [
        Figure("turns", len(played), "turns"),
        *states,
        Figure("topics", len({one.topic for one in played}), "topics"),
        Figure("evidence in the prompt", 100 * sum(shares) / max(len(shares), 1), "%"),
    ]


def draw(played: Sequence[Played]) -> str:
    """The Markdown page of a dialogue's turns, in their order."""
    topics = list(dict.fromkeys(one.topic for one in played))
    names = {topic: f"topic {number}" for number, topic in enumerate(topics, start=1)}
    lines = [
        "# One thread, turn by turn",
        "",
        "Drawn by `goat bench thread-diagram` from a real run. Each box is a turn: its state, and what served it.",
        "",
        "```mermaid",
        "flowchart TB",
    ]
    for topic in topics:
        lines.append(f'  subgraph {names[topic].replace(" ", "")}["{names[topic]}"]')
        lines += [f"    {_box(number, one)}" for number, one in enumerate(played, start=1) if one.topic == topic]
        lines.append("  end")
    for number, one in enumerate(played[1:], start=2):
        later = f"|{one.asked.days} days later|" if one.asked.days else ""
        lines.append(f"  t{number - 1} -->{later} t{number}")
    for state, colour in COLOURS.items():
        boxes = [f"t{number}" for number, one in enumerate(played, start=1) if one.record.state == state]
        if boxes:
            lines += [f"  classDef {state} fill:{colour},color:#111", f"  class {','.join(boxes)} {state}"]
    lines += [
        "```",
        "",
        "| turn | message | state | topic | served by | in the prompt |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for number, one in enumerate(played, start=1):
        record = one.record
        found = "yes" if one.in_prompt == 1 else "no"
        lines.append(
            f"| {number} | {one.asked.text} | {record.state} | {names[one.topic]} | {record.served_by} | {found} |"
        )
    return "\n".join(lines) + "\n"


def _box(number: int, one: Played) -> str:
    text = one.asked.text.replace('"', "'")
    return f't{number}["{number}. {text}<br/>{one.record.state} · {one.record.served_by}"]'
