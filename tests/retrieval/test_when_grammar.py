"""The grammar files and their notation: every pattern can be read, matched and understood."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from goat.retrieval.when import LANGUAGES, find_windows
from goat.retrieval.when.dates import Days, containing, easter, feast, orthodox_easter, shifted
from goat.retrieval.when.grammar import COMMON, NOTHING, longest_match
from goat.retrieval.when.load import grammar_of, grammar_table
from goat.retrieval.when.notation import Element, PatternError, spell_out, words_of
from goat.retrieval.when.numerals import numeral
from goat.retrieval.when.rules import RULES
from goat.retrieval.when.shapes import shape

AT = datetime(2026, 7, 15, 17, 22, tzinfo=UTC)
SAMPLES = {
    "int": "3",
    "day": "9",
    "hour": "8",
    "year": "2024",
    "yyyy": "2024",
    "distant": "1850",
    "beyond": "45",
    "time": "15:30",
    "ymd": "2026-07-09",
    "dmy": "9.07.2026",
    "short": "09.07.26",
    "dotted": "9.07",
    "slashed": "9/7",
    "comma": "9,2024",
    "span": "3-5",
    "hours": "15:00-17:00",
    "years": "2019-2021",
    "ym": "2026-07",
    "iso": "2026-07-09T15:30",
}
UNSPACED = ("ja", "zh")
SECTIONS = ("rules", "mentions", "weak")


def spelled(pattern: str) -> set[str]:
    return {
        " ".join(
            f"<{element.word_class}:{element.name}>" if element.word_class else element.word for element in sequence
        )
        for sequence in spell_out(pattern, {"m": "(x|y)"})
    }


@pytest.mark.parametrize(
    ("pattern", "sequences"),
    [
        ("last week", {"last week"}),
        ("[the] last (day|week end)", {"last day", "last week end", "the last day", "the last week end"}),
        ("<day> <day:day2>", {"<day:day> <day:day2>"}),
        ("{m} [a|b]", {"x", "x a", "x b", "y", "y a", "y b"}),
        ("azi-noapte", {"azi noapte", "azi - noapte"}),
        ("o'clock", {"o clock"}),
    ],
)
def test_a_pattern_spells_out_to_all_its_sequences(pattern: str, sequences: set[str]) -> None:
    assert spelled(pattern) == sequences


@pytest.mark.parametrize("pattern", ["(a", "a)", "[a", "(a]", "{nothing}", "<a"])
def test_a_pattern_that_cannot_be_read_is_named(pattern: str) -> None:
    with pytest.raises(PatternError, match="cannot be read"):
        spell_out(pattern, {})


def test_a_phrase_comes_with_its_hyphens_and_without() -> None:
    assert set(words_of("avant-hier soir")) == {("avant", "hier", "soir"), ("avant", "-", "hier", "soir")}


class TestFiles:
    """What the files say; a pattern that never matches, or that its rule does not understand, is a mistake in them."""

    def words(self, code: str) -> dict[str, list[str]]:
        """The phrases of each class of a language."""
        table = grammar_table(code)
        classes = {
            name: [phrase for phrases in values.values() for phrase in phrases]
            for name, values in (*grammar_table(COMMON)["words"].items(), *table.get("words", {}).items())
        }
        return classes | {group: classes[members[0]] for group, members in table.get("groups", {}).items()}

    def patterns(self, code: str) -> list[tuple[str, str]]:
        """The rules of a language and their patterns."""
        table: dict[str, Any] = grammar_table(code)
        ruled = [
            (rule, pattern)
            for section in SECTIONS
            for rule, found in table.get(section, {}).items()
            for pattern in found
        ]
        return ruled + [(NOTHING, pattern) for pattern in table["everyday"]]

    @pytest.mark.parametrize("code", [COMMON, *LANGUAGES])
    def test_every_rule_exists(self, code: str) -> None:
        assert {rule for rule, _ in self.patterns(code)} <= RULES.keys()

    @pytest.mark.parametrize("code", [COMMON, *LANGUAGES])
    def test_every_pattern_matches_what_it_spells_out(self, code: str) -> None:
        macros = grammar_table(COMMON)["macros"] | grammar_table(code).get("macros", {})
        grammar = grammar_of(("en",) if code == COMMON else (code,))
        words = self.words(code)

        def sample(element: Element) -> str:
            return (element.word or SAMPLES.get(element.word_class) or words[element.word_class][0]).removeprefix("=")

        for rule, pattern in self.patterns(code):
            matched = False
            for sequence in spell_out(pattern, macros):
                text = ("" if code in UNSPACED else " ").join(sample(element) for element in sequence)
                find_windows(text, AT, UTC)
                tokens = grammar.scanner.tokens(text)
                match = longest_match(grammar.root, grammar.lattice(tokens), 0)
                rules = {final.rule for final, _ in match.readings} if match and match.end == len(tokens) else set()
                matched = matched or rule in rules
            assert matched, f"{code}: {rule} never matches {pattern!r}"

    @pytest.mark.parametrize("code", LANGUAGES)
    def test_every_language_names_months_weekdays_and_the_days_around_today(self, code: str) -> None:
        words = grammar_table(code)["words"]
        weekdays = {int(value) for value in words["weekday"]}
        months = {int(value) for name, values in words.items() if name.endswith("month") for value in values}
        assert weekdays == set(range(7))
        assert months == set(range(1, 13)) or code in UNSPACED  # there a month is a number
        assert {"-2", "-1", "1", "2"} <= words["relative"].keys()

    @pytest.mark.parametrize("code", LANGUAGES)
    def test_every_feast_can_be_reckoned(self, code: str) -> None:
        words = grammar_table(code)["words"]
        for name in ("holiday", "clear_holiday", "typed_holiday", "break"):
            for written in words.get(name, {}):
                assert feast(written)(2026).length in range(1, 9)


@pytest.mark.parametrize(
    ("year", "western", "orthodox"),
    [
        (2024, date(2024, 3, 31), date(2024, 5, 5)),
        (2025, date(2025, 4, 20), date(2025, 4, 20)),
        (2026, date(2026, 4, 5), date(2026, 4, 12)),
        (2027, date(2027, 3, 28), date(2027, 5, 2)),
    ],
)
def test_easter(year: int, western: date, orthodox: date) -> None:
    assert easter(year) == western
    assert orthodox_easter(year) == orthodox


@pytest.mark.parametrize(
    ("written", "first", "last"),
    [
        ("12/25", date(2026, 12, 25), date(2026, 12, 25)),
        ("12/31..01/01", date(2026, 12, 31), date(2027, 1, 1)),
        ("easter-2..easter+1", date(2026, 4, 3), date(2026, 4, 6)),
        ("thu4/11", date(2026, 11, 26), date(2026, 11, 26)),
        ("thu4/11+1", date(2026, 11, 27), date(2026, 11, 27)),
    ],
)
def test_a_feast_is_read_from_its_notation(written: str, first: date, last: date) -> None:
    assert feast(written)(2026) == Days(first, last + timedelta(1))


def test_what_is_no_feast_is_named() -> None:
    with pytest.raises(ValueError, match="'full moon' is no feast"):
        feast("full moon")


def test_a_month_before_the_31st_is_the_last_of_a_shorter_month() -> None:
    assert shifted(date(2026, 3, 31), "month", -1) == date(2026, 2, 28)
    assert shifted(date(2024, 2, 29), "year", -1) == date(2023, 2, 28)
    assert containing(date(2026, 8, 15), "quarter") == Days(date(2026, 7, 1), date(2026, 10, 1))


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("15:30", "time"),
        ("15h30", "time"),
        ("9.07.2026", "dmy"),
        ("2026-07-09", "ymd"),
        ("3-5", "span"),
        ("2026-07", "ym"),
        ("2.0.1", "none"),
        ("192.168.1.1", "none"),
        ("25:30", "none"),
        ("0722-123-456", "none"),
        ("10-99", "span"),
        ("3.14159", "none"),
        ("9" * 5000, "none"),
    ],
)
def test_a_numeric_shape_is_told_from_another(written: str, kind: str) -> None:
    assert shape(written)[0] == kind


@pytest.mark.parametrize(
    ("signs", "value"),
    [
        ("三", 3),
        ("十", 10),
        ("十五", 15),
        ("二十三", 23),
        ("二〇二六", 2026),
        ("两", 2),
        ("五六", None),
        ("十十", None),
    ],
)
def test_a_number_in_characters(signs: str, value: int | None) -> None:
    assert numeral(signs) == value
