"""Whom a question names: by any part of the name, in any script, and not by a word that only looks like one."""

from __future__ import annotations

import pytest

from goat.retrieval.speakers import named_speaker

SPEAKERS = ("Ana", "Mihai Pop", "Ștefan", "Will", "May", "田中", "李明", "김민수", "Élodie", "")


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("What did Ana say?", "Ana"),
        ("what did ana say", "Ana"),
        ("Mihai's car", "Mihai Pop"),
        ("Mihai’s car", "Mihai Pop"),
        ("Where does Pop live?", "Mihai Pop"),
        ("ask @Ana about it", "Ana"),
        ("Ce a zis Ştefan?", "Ștefan"),
        ("Ce a zis Stefan?", "Ștefan"),
        ("Que vend Elodie ?", "Élodie"),
        ("田中さんは何と言った？", "田中"),
        ("李明说了什么？", "李明"),
        ("김민수 씨가 뭐라고 했어요?", "김민수"),
        ("Ana and Mihai", ""),
        ("who said it", ""),
        ("When will the plumber come?", ""),
        ("Will the rent go up?", ""),
        ("when may I call the doctor", ""),
        ("What did the banana cost?", ""),
        ("", ""),
        ("🙂", ""),
    ],
)
def test_the_one_named_is_told(query: str, named: str) -> None:
    assert named_speaker(query, SPEAKERS) == named


def test_two_who_share_the_name_are_nobody() -> None:
    assert named_speaker("What did Pop say?", ["Mihai Pop", "Ana Pop"]) == ""
    assert named_speaker("What did Ana say?", ["Mihai Pop", "Ana Pop"]) == "Ana Pop"
