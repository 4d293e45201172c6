"""The LoCoMo bench on small files: what is read, what is left out, what is refused, and what its document holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from goat.bench.locomo import Outcome, archive_sample, ask_all
from goat.bench.locomo_data import BenchDataError, read
from goat.cli.main import run
from goat.memory.facade import MemoryLayers
from goat.testing.app import memory_app

TURNS = ("The boiler needs water every week.", "My cat sleeps in the cellar.", "We sail to Sulina in May.")
ASKED = (
    ("How often does the boiler need water?", 1),
    ("What needs water every week?", 1),
    ("Where does the cat sleep?", 2),
    ("Who sleeps in the cellar?", 2),
    ("Where do we sail in May?", 3),
    ("When do we sail to Sulina?", 3),
)


def sample() -> dict[str, Any]:
    """One conversation of one session, and six questions of categories 1 and 2."""
    turns = [{"speaker": "Ana", "dia_id": f"D1:{number}", "text": text} for number, text in enumerate(TURNS, start=1)]
    return {
        "sample_id": "small",
        "conversation": {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"},
        "qa": [{"question": text, "evidence": [f"D1:{turn}"], "category": turn % 2 + 1} for text, turn in ASKED],
    }


def written(folder: Path, content: object) -> Path:
    file = folder / "small.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def test_the_document_counts_the_conversations_and_is_json_where_no_question_is_unanswerable(tmp_path: Path) -> None:
    file, out = written(tmp_path, [sample()]), tmp_path / "out.json"
    assert run(["bench", "locomo", "--data", str(file), "--json", str(out)]) == 0
    document = json.loads(out.read_text(encoding="utf-8"), parse_constant=refuse)
    assert (document["samples"], document["questions"]) == (1, 6)
    assert document["results"]["goat"]["abstention_auroc"] is None
    assert document["results"]["goat"]["categories_1_to_4"]["turn"]["any"]["10"] == 1.0


def test_where_every_question_is_unanswerable_the_document_has_no_number_for_the_others(tmp_path: Path) -> None:
    told = sample()
    for qa in told["qa"]:
        qa["category"] = 5
    file, out = written(tmp_path, [told]), tmp_path / "out.json"
    assert run(["bench", "locomo", "--data", str(file), "--json", str(out)]) == 0
    document = json.loads(out.read_text(encoding="utf-8"), parse_constant=refuse)
    assert document["results"]["goat"]["categories_1_to_4"]["turn"]["any"]["10"] is None


def test_what_is_empty_is_left_out_and_a_missing_category_is_none(tmp_path: Path) -> None:
    told = sample()
    session = told["conversation"]["session_1"]
    del session[0]["text"]
    session[1].update(text="", blip_caption="a cat in a cellar")
    del session[2]["speaker"]
    told["conversation"] |= {"session_2": [], "session_3": None, "session_4_date_time": "1:00 pm on 9 May, 2023"}
    del told["qa"][2]["category"]
    told["qa"][3]["question"] = " "
    told["qa"].append({"question": "nothing tells", "category": 1})
    empty = {"sample_id": "empty", "conversation": {"session_1": []}}
    (only,) = read(written(tmp_path, [told, empty]))
    assert [(turn.id, turn.spoken) for turn in only.turns] == [
        ("D1:2", "Ana:  [image: a cat in a cellar]"),
        ("D1:3", TURNS[2]),
    ]
    assert [(one.text, one.category) for one in only.questions] == [
        (ASKED[2][0], ""),
        (ASKED[4][0], "2"),
        (ASKED[5][0], "2"),
    ]


def changed(**conversation: Any) -> dict[str, Any]:
    told = deepcopy(sample())
    told["conversation"] |= conversation
    return told


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            [changed(session_1_date_time="29.12.2023, 16:30:24")],
            'the date_time of session_1 of sample small is "29.12.2023, 16:30:24"; '
            "write it as in '1:56 pm on 8 May, 2023'.",
        ),
        ([changed(session_1_date_time=None)], "the date_time of session_1 of sample small is null; write it as in"),
        ([changed(session_1="hello")], "session_1 of sample small is no JSON list; give it a LoCoMo sample file."),
        ([changed(session_1=["hello"])], "turn 1 in session_1 of sample small is no JSON object; give it"),
        ([changed(session_1=[{"text": "hi"}])], "turn 1 in session_1 of sample small has no dia_id; name it as in"),
        ([sample(), {"qa": []}], "the conversation of sample 2 is missing; give it a LoCoMo sample file."),
        ([7], "sample 1 is no JSON object; give it a LoCoMo sample file."),
        ([{**sample(), "qa": []}], "it has no question whose evidence is a turn of its conversation; give it"),
        ([], "it has no question whose evidence is a turn of its conversation; give it"),
        ({"a": 1}, "the file is no JSON list; give it a LoCoMo sample file."),
    ],
)
def test_a_file_that_cannot_be_used_is_told_with_the_place_and_the_way_out(
    tmp_path: Path, content: object, told: str
) -> None:
    file = written(tmp_path, content)
    with pytest.raises(BenchDataError) as refused:
        read(file)
    assert str(refused.value).startswith(f"{file} cannot be used by this bench: {told}")


def test_what_is_no_json_is_told(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("hello", encoding="utf-8")
    with pytest.raises(BenchDataError, match=r"notes\.txt cannot be used by this bench: it is no JSON \(.*line 1"):
        read(file)
    with pytest.raises(BenchDataError, match="No such file"):
        read(tmp_path / "nowhere.json")


class NotingMemory:
    """A memory that notes by which recipes it was asked."""

    def __init__(self, memory: MemoryLayers) -> None:
        self._memory = memory
        self.recipes: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    async def recall(self, query: Any, recipe: Any, *bounds: Any) -> Any:
        """Note and answer."""
        self.recipes.append(recipe.name)
        return await self._memory.recall(query, recipe, *bounds)


async def test_the_reflex_is_timed_before_any_other_search_of_the_same_question(tmp_path: Path) -> None:
    (small,) = read(written(tmp_path, [sample()]))
    outcome = Outcome()
    async with memory_app() as app:
        noting = NotingMemory(app.memory)
        names: Mapping[int, str] = await archive_sample(app, small, outcome)
        await ask_all(replace(app, memory=noting), small, 1, names, outcome)  # type: ignore[arg-type]
    assert noting.recipes[:2] == ["reflex", "cold"]
    assert [len(outcome.latency_ms[part]) for part in ("reflex", "pipeline")] == [1, 1]
