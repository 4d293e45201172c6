from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from goat.adapters.history import open_history
from goat.adapters.history_file import HistoryLimits
from goat.errors import HistoryError
from goat.records.history import BadRecord, HistoryKind, HistoryRecord

Json = dict[str, Any]


def node(name: str, parent: str | None, role: str | None = None, text: Any = "", **message: Any) -> Json:
    """A node of the tree; without a role it has no message, as the root of an export."""
    inner = None
    if role is not None:
        content = text if isinstance(text, dict) else {"content_type": "text", "parts": [text]}
        inner = {"id": name, "author": {"role": role}, "create_time": 1715176560.5, "content": content, **message}
    return {"id": name, "parent": parent, "message": inner, "children": []}


def conversation(*nodes: Json, current: str | None = None, **head: Any) -> Json:
    mapping = {one["id"]: {**one, "children": []} for one in nodes}
    for one in nodes:
        if one["parent"] in mapping:
            mapping[one["parent"]]["children"].append(one["id"])
    last = current or nodes[-1]["id"]
    return {"title": "Tea", "create_time": 1715176000.0, "mapping": mapping, "current_node": last, "id": "c1", **head}


TALK = (node("root", None), node("q", "root", "user", "Which tea?"), node("a", "q", "assistant", "Green."))


def written(folder: Path, document: Any, name: str = "conversations.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def records(folder: Path, *conversations: Any) -> list[HistoryRecord]:
    return list(open_history(written(folder, list(conversations))).read())


def test_question_and_answer_keep_their_words_times_and_sides(tmp_path: Path) -> None:
    question, answer = records(tmp_path, conversation(*TALK))
    assert (question.text, question.own, question.sender_name) == ("Which tea?", True, "user")
    assert (answer.text, answer.own, answer.sender_name) == ("Green.", False, "ChatGPT")
    assert question.at == datetime(2024, 5, 8, 13, 56, 0, 500_000, tzinfo=UTC)
    assert (question.key, question.chat, question.chat_title) == ("chatgpt:c1/q", "chatgpt:c1", "Tea")
    assert (question.reply_to, answer.reply_to) == (None, "chatgpt:c1/q")
    assert [question.number, answer.number] == [1, 2]


def test_only_the_branch_that_was_seen_last_is_read_and_its_question_is_marked_edited(tmp_path: Path) -> None:
    again = (node("q2", "root", "user", "Which coffee?"), node("a2", "q2", "assistant", "Black."))
    found = records(tmp_path, conversation(*TALK, *again))
    assert [(record.text, record.edited) for record in found] == [("Which coffee?", True), ("Black.", False)]

    retried = node("a1", "q", "assistant", "Black tea.")
    found = records(tmp_path, conversation(*TALK, retried, current="a"))
    assert [(record.text, record.edited) for record in found] == [("Which tea?", False), ("Green.", False)]


@pytest.mark.parametrize("current", [None, "gone", 5, ["a"]])
def test_without_a_current_node_the_newest_leaf_counts(tmp_path: Path, current: Any) -> None:
    tree = conversation(*TALK, node("old", "q", "assistant", "Herbal.", create_time=1.0), current_node=current)
    assert [record.text for record in records(tmp_path, tree)] == ["Which tea?", "Green."]


@pytest.mark.parametrize(
    "hidden",
    [
        node("x", "a", "system", "You are helpful"),
        node("x", "a", "tool", "result of a search"),
        node("x", "a", "assistant", "search('tea')", recipient="browser"),
        node("x", "a", "assistant", {"content_type": "thoughts", "thoughts": [{"content": "hm"}]}),
        node("x", "a", "assistant", {"content_type": "reasoning_recap", "content": "Thought for 4 s"}),
        node("x", "a", "user", {"content_type": "user_editable_context", "user_profile": "Dana"}),
        node("x", "a", "user", "hidden", metadata={"is_visually_hidden_from_conversation": True}),
        node("x", "a", "assistant", ""),
        node("x", "a", "assistant", {"content_type": "text"}),
        node("x", "a", "assistant", "text", content=None),
    ],
)
def test_what_the_person_did_not_see_is_no_part_of_the_talk(tmp_path: Path, hidden: Json) -> None:
    found = records(tmp_path, conversation(*TALK, hidden))
    assert [record.text for record in found] == ["Which tea?", "Green."]


def test_parts_are_joined_and_pictures_leave_a_line(tmp_path: Path) -> None:
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}
    spoken = {"content_type": "audio_transcription", "text": "Hello"}
    captioned = node("q", None, "user", {"content_type": "multimodal_text", "parts": [picture, "What is it?", spoken]})
    alone = node("p", "q", "user", {"content_type": "multimodal_text", "parts": [picture]})
    code = node("k", "p", "assistant", {"content_type": "code", "language": "python", "text": "print(1)"})
    found = records(tmp_path, conversation(captioned, alone, code))
    assert [record.text for record in found] == ["[image]\nWhat is it?\nHello", "[image]", "print(1)"]
    assert [record.kind for record in found] == [HistoryKind.MESSAGE, HistoryKind.MEDIA, HistoryKind.MESSAGE]
    assert [record.media for record in found] == ["[image]", "[image]", ""]


def test_a_message_without_a_time_has_that_of_the_one_before_or_of_the_conversation(tmp_path: Path) -> None:
    nodes = (
        node("q", None, "user", "first", create_time=None),
        node("a", "q", "assistant", "second", create_time=1715176500),
        node("r", "a", "user", "third", create_time=None),
    )
    found = records(tmp_path, conversation(*nodes))
    assert [int(record.at.timestamp()) for record in found] == [1715176000, 1715176500, 1715176500]


def test_one_conversation_alone_is_read(tmp_path: Path) -> None:
    found = list(open_history(written(tmp_path, conversation(*TALK), "tea.json")).read())
    assert [record.key for record in found] == ["chatgpt:c1/q", "chatgpt:c1/a"]


def test_the_archive_as_downloaded_is_read_with_all_its_parts(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    parts = [conversation(*TALK, id=f"c{number}") for number in range(3)]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("chat.html", "<html>")
        archive.writestr("data/conversations-001.json", json.dumps(parts[2:]))
        archive.writestr("data/conversations-000.json", json.dumps(parts[:2]))
        archive.writestr("user.json", "{}")
    source = open_history(path)
    found = list(source.read())
    assert [record.chat for record in found] == [f"chatgpt:c{number}" for number in (0, 0, 1, 1, 2, 2)]
    assert found[-1].position == source.size
    assert [record.number for record in found] == [1, 2, 3, 4, 5, 6]


BAD = [
    ("text", "the conversation is not a JSON object"),
    ({"id": "x", "mapping": []}, "its mapping is not a JSON object"),
    (conversation(*TALK, id="", conversation_id=None), "it has no id"),
    (conversation(node("a", "b", "user", "1"), node("b", "a", "assistant", "2")), "answers itself"),
    (conversation(node("a", None, "user", "1", create_time="noon")), "its date 'noon' is no time in seconds"),
    (conversation(node("a", None, "user", "1", create_time=1e20)), "is no time in seconds"),
]


@pytest.mark.parametrize(("broken", "reason"), BAD)
def test_a_bad_record_is_named_and_the_rest_is_read(tmp_path: Path, broken: Any, reason: str) -> None:
    path = written(tmp_path, [conversation(*TALK), broken, conversation(*TALK, id="c3")])
    source = open_history(path)
    with pytest.raises(HistoryError) as caught:
        list(source.read())
    assert (caught.value.path, caught.value.record) == (path, 3)
    assert reason in caught.value.problem

    bad: list[BadRecord] = []
    assert [record.chat for record in source.read(bad.append)] == ["chatgpt:c1"] * 2 + ["chatgpt:c3"] * 2
    assert [report.number for report in bad] == [3]


def test_a_truncated_export_gives_what_stands_before_the_break(tmp_path: Path) -> None:
    path = written(tmp_path, [conversation(*TALK), conversation(*TALK, id="c2")])
    path.write_bytes(path.read_bytes()[:-30])
    bad: list[BadRecord] = []
    assert len(list(open_history(path).read(bad.append))) == 2
    assert [report.number for report in bad] == [3]


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    talk = [conversation(*TALK, node("r", "a", "user", "long " * 4000), id=f"c{number}") for number in range(50)]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps(talk))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    bad: list[BadRecord] = []
    assert list(open_history(path).read(bad.append))
    assert "the archive is damaged" in bad[-1].reason


def test_a_conversation_beyond_the_limit_breaks_the_reading(tmp_path: Path) -> None:
    huge = conversation(*TALK, node("x", "a", "user", "x" * 1_000_000), id="c2")
    path = written(tmp_path, [conversation(*TALK), huge])
    bad: list[BadRecord] = []
    source = open_history(path, limits=HistoryLimits(record_bytes=300_000))
    assert len(list(source.read(bad.append))) == 2
    assert "longer than 293 KB" in bad[0].reason
