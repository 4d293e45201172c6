"""What the model that quotes says of its own, in the languages of the front doors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

ENGLISH: Final = "en"


@dataclass(frozen=True, slots=True)
class Words:
    """Its sentences in one language. `other` has the name of somebody else for `{who}`."""

    found: str
    nothing_found: str
    kept: str
    how_to_configure: str
    person: str
    itself: str
    other: str


WORDS: Final[Mapping[str, Words]] = {
    ENGLISH: Words(
        found="From memory:",
        nothing_found="Nothing found in memory about that.",
        kept="Kept, word for word. Nothing in memory relates to it yet.",
        how_to_configure="(No language model is configured, so I answer by quoting what you told me. "
        "`./run.sh setup` connects one.)",
        person="you said",
        itself="I said",
        other="{who} said",
    ),
    "ro": Words(
        found="Din memorie:",
        nothing_found="Nu am găsit nimic în memorie despre asta.",
        kept="Am reținut, cuvânt cu cuvânt. Încă nimic din memorie nu are legătură cu asta.",
        how_to_configure="(Nu este configurat niciun model de limbaj, așa că răspund citând ce mi-ai spus. "
        "`./run.sh setup` conectează unul.)",
        person="ai spus",
        itself="am spus",
        other="{who} a spus",
    ),
}


def words_of(language: str) -> Words:
    """The words for the language code of a person, such as `ro` or `pt-br`; English where there are none for it."""
    return WORDS.get(language.lower().replace("_", "-").partition("-")[0], WORDS[ENGLISH])
