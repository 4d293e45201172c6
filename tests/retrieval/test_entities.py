"""What a text names, by rules; the contract of the port EntityExtractor."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.ports.models import EntityExtractor
from goat.retrieval.entities import MOST, NoEntities, RuleEntities, entities_of


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("I met Ana Popescu in Cluj yesterday", ["name Ana Popescu", "place Cluj"]),
        ("Ana lives in Cluj-Napoca. I like Ana.", ["name Ana", "place Cluj-Napoca"]),
        ("Locuiesc în București cu Ana și cu mama", ["place București", "name Ana"]),
        ("Ich wohne in Berlin mit meiner Schwester und habe das Auto in die Garage gestellt", ["place Berlin"]),
        ("Mieszkam w Krakowie i lubię psy", ["place Krakowie"]),
        ("Привет, я живу в Москве с Анной", ["place Москве", "name Анной"]),
        ("Leonardo da Vinci painted it", ["name Leonardo da Vinci"]),
        ("We saw the Golden Gate Bridge in San Francisco", ["name Golden Gate Bridge", "place San Francisco"]),
        ("a book by J.R.R. Tolkien", ["name J.R.R. Tolkien"]),
        ("yesterday I'm with Bob's dog", ["name Bob"]),
        ("Ana Popescu", ["name Ana Popescu"]),
        ("田中さんは京都府に住んでいます", ["name 田中", "place 京都府"]),
        ("我住在成都市，我叫王明", ["name 王明", "place 成都市"]),
        ("김철수씨가 왔어요", ["name 김철수"]),
        ("나는 김민수 씨를 만났다", ["name 김민수"]),
        ("민수 씨, 안녕하세요", ["name 민수"]),
        ("Am fost cu Ștefan la Brașov.", ["name Ștefan", "name Brașov"]),
        ("we read Juan de la Cruz", ["name Juan de la Cruz"]),
        ("I'm going to The Hague with Dr. House", ["name Hague", "name House"]),
        ("Mr. Smith and dr. Popescu came", ["name Smith", "name Popescu"]),
        ("Gestern war ich mit Dr. Müller in der Stadt und habe ihn gefragt", ["name Müller"]),
        ("we live in St. Louis", ["place St. Louis"]),
        ("I asked HR and Bob", ["name HR", "name Bob"]),
        ("my ticket is TKT-4711, write to ana@example.org", ["code tkt-4711", "code ana@example.org"]),
    ],
)
def test_names_places_and_codes_are_found(text: str, named: list[str]) -> None:
    assert sorted(f"{entity.kind} {entity.text}" for entity in entities_of(text)) == sorted(named)


@pytest.mark.parametrize(
    "text",
    [
        "Visited the museum. Great day!",
        "HELLO WORLD THIS IS LOUD",
        "What should I do on Monday in July?",
        "Ich habe das Auto in die Garage gestellt und die Katze gefüttert",
        "it cost 1,500,000 lei, or 15,000 lei a month",
        "it cost 1,500.50 on 2026-03-02 at 15:30, the 10th time in 2023",
        "猫が好きです",
        "사과 씨앗을 심었다",
        "I asked the Dr. today",
        "",
        "😀😀😀",
    ],
)
def test_what_names_nothing_gives_nothing(text: str) -> None:
    assert entities_of(text) == ()


def test_f_b33_a_comma_inside_of_a_name_does_not_split_it() -> None:
    assert [entity.text for entity in entities_of("We flew to Washington, D.C. and to Boston, Chicago")] == [
        "Washington, D.C.",
        "Boston",
        "Chicago",
    ]


@given(st.text(max_size=400))
def test_any_text_gives_a_bounded_list_of_distinct_entities_that_stand_in_it(text: str) -> None:
    found = entities_of(text)
    assert len(found) <= MOST
    assert len({(entity.kind, entity.text) for entity in found}) == len(found)
    for entity in found:
        assert entity.text
        assert "\n" not in entity.text


def test_a_very_long_text_is_read_at_its_beginning() -> None:
    assert [entity.text for entity in entities_of("we met Ana there " + "and so on " * 100_000 + "with Dan")] == ["Ana"]


@pytest.mark.parametrize("extractor", [RuleEntities(), NoEntities()], ids=lambda one: one.name)
async def test_an_extractor_answers_for_each_text_in_order(extractor: EntityExtractor) -> None:
    texts = ["I met Ana", "nothing here", "I met Dan"]
    found = await extractor.extract(texts)
    assert len(found) == len(texts)
    assert found == [(await extractor.extract([text]))[0] for text in texts]
    assert found[1] == ()
    assert await extractor.extract([]) == []


async def test_the_null_object_finds_nothing() -> None:
    assert await NoEntities().extract(["I met Ana in Cluj"]) == [()]


@pytest.mark.parametrize(
    "text", ["mine", "you", "orchestratorul", "user", "I", "it is mine, not yours", "ask the user"]
)
@pytest.mark.parametrize("shaped", [str, str.capitalize])
def test_a62_pronouns_and_words_for_oneself_are_nobody(text: str, shaped: Callable[[str], str]) -> None:
    assert entities_of(shaped(text)) == ()
    assert entities_of(f"Well, {text} said so") == ()
