from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest

from goat.adapters.history import open_history, sniff
from goat.adapters.history_file import HistoryLimits, in_bytes
from goat.errors import HistoryError
from goat.testing.telegram_export import write_telegram_export

CHATGPT = [{"id": "c", "title": "T", "create_time": 1, "mapping": {}, "current_node": None}]
LOCOMO = [{"sample_id": "1", "conversation": {"speaker_a": "A", "session_1": []}}]
LINE = {"text": "Hello", "at": 1}


def zipped(path: Path, name: str, data: bytes, method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr(name, data)
    return path


@pytest.mark.parametrize(
    ("document", "name"),
    [
        ({"name": "A", "type": "personal_chat", "id": 1, "messages": []}, "Telegram export"),
        ({"about": "x", "personal_information": {}, "contacts": {"list": []}}, "Telegram export"),
        ({"left_chats": {"list": []}}, "Telegram export"),
        (CHATGPT, "ChatGPT export"),
        (CHATGPT[0], "ChatGPT export"),
        (LOCOMO, "LoCoMo sample"),
        (LOCOMO[0], "LoCoMo sample"),
        (LINE, "JSON lines"),
        ({"format": "goat-history", "version": 1}, "JSON lines"),
    ],
)
def test_a_format_is_told_from_the_content_whatever_the_file_is_called(
    tmp_path: Path, document: object, name: str
) -> None:
    path = tmp_path / "photo.png"
    path.write_text(json.dumps(document))
    assert open_history(path).format == name
    assert sniff(path)


def test_a_line_that_does_not_end_in_the_head_is_still_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_text('{"at": 1, "text": "' + "x" * 3_000_000)
    assert open_history(path).format == "JSON lines"


def test_a_zipped_telegram_export_is_read(tmp_path: Path) -> None:
    plain = tmp_path / "result.json"
    facts = write_telegram_export(plain, 600, seed=1)
    packed = zipped(tmp_path / "x.zip", "ChatExport_2024/result.json", plain.read_bytes())
    assert len(list(open_history(packed).read())) == facts.records


@pytest.mark.parametrize(
    ("content", "problem", "remedy"),
    [
        (b"", "it is empty", "Export the chats again."),
        (b"   \n", "its format is not known", "GOAT reads"),
        (b"[]", "its format is not known", "GOAT reads"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "its format is not known", "GOAT reads"),
        (b'{"guild": {}, "channel": {}, "messages": []}', "its format is not known", "GOAT reads"),
        (b"hello, this is a chat", "its format is not known", "GOAT reads"),
        (b"\xef\xbb\xbf <!DOCTYPE html><html>", "it is a page to look at (HTML)", "Machine-readable JSON"),
        (b"PK\x03\x04 nothing more", "the archive cannot be opened", "Download or pack it again."),
    ],
)
def test_what_is_no_history_is_refused_with_a_way_out(
    tmp_path: Path, content: bytes, problem: str, remedy: str
) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(HistoryError) as caught:
        open_history(path)
    assert problem in caught.value.problem
    assert remedy in caught.value.remedy
    assert not sniff(path)


def test_a_folder_is_refused_and_the_export_inside_it_named(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match=r"it is a folder\. Name the file inside that holds the chats"):
        open_history(tmp_path)
    (tmp_path / "result.json").write_text("{}")
    with pytest.raises(HistoryError, match=r"result\.json"):
        open_history(tmp_path)


@pytest.mark.parametrize("name", ["gone.json", "a\x00b", "x" * 300])
def test_a_path_that_leads_nowhere_is_an_error_that_names_it(tmp_path: Path, name: str) -> None:
    with pytest.raises(HistoryError, match="cannot be read"):
        open_history(tmp_path / name)


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(HistoryError, match="it is not a plain file"):
        open_history(path)


@pytest.mark.parametrize(
    "name", ["chat \u202e\n\x1b[31m.json", "ünï 🐐 'quoted' \"name\".json", os.fsdecode(b"raw\xff.json")]
)
def test_odd_path_characters_are_read_and_shown_harmlessly(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(LINE) + "\n{}")
    with pytest.raises(HistoryError) as caught:
        list(open_history(path).read())
    message = str(caught.value)
    assert message.isprintable()
    assert message.encode()
    assert caught.value.path == path


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    bomb = zipped(tmp_path / "bomb.zip", "conversations.json", b"[" + b" " * 40_000_000)
    with pytest.raises(HistoryError, match="would unpack 38 KB to 38 MB"):
        open_history(bomb)
    big = zipped(tmp_path / "big.zip", "conversations.json", json.dumps(CHATGPT * 1000).encode())
    with pytest.raises(HistoryError, match="which no chat does"):
        open_history(big, limits=HistoryLimits(unpacked_bytes=10_000))
    assert open_history(big).format == "ChatGPT export"


def test_an_archive_that_lies_about_its_size_gives_no_more_than_it_claims(tmp_path: Path) -> None:
    path = zipped(tmp_path / "lie.zip", "conversations.json", json.dumps(CHATGPT * 5000).encode())
    data = path.read_bytes()
    size = len(json.dumps(CHATGPT * 5000)).to_bytes(4, "little")
    path.write_bytes(data.replace(size, (1000).to_bytes(4, "little")))
    with pytest.raises(HistoryError, match=r"the archive is damaged"):
        list(open_history(path).read())


def test_an_archive_without_chats_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", "notes.txt", b"hello")
    with pytest.raises(HistoryError, match=r"no conversations\.json and no result\.json"):
        open_history(path)


def test_a_locked_archive_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", "conversations.json", json.dumps(CHATGPT).encode())
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    data[6] |= 1
    path.write_bytes(data)
    with pytest.raises(HistoryError, match="locked with a password"):
        open_history(path)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KB"), (38_912, "38 KB"), (2**31, "2.0 GB"), (2**55, "32768 TB")],
)
def test_bytes_are_shown_for_people(count: int, text: str) -> None:
    assert in_bytes(count) == text
