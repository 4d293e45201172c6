"""Terms: what brings a question to the message that it asks about."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goat.retrieval.fold import fold
from goat.retrieval.languages import languages, latin_languages, likely_languages, stem, stop_words
from goat.retrieval.terms import analyse, guesses, is_question, is_short_question


def meet(question: str, message: str, *, asked_in: str | None = None, written_in: str | None = None) -> set[str]:
    return set(analyse(question, asked_in)) & set(analyse(message, written_in))


def without_accents(text: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFD", text) if not unicodedata.combining(letter))


# ------------------------------------------------------------------------------------------------------ one spelling


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("știință și țară", "ştiinţă şi ţară"),
        ("știință și țară", "stiinta si tara"),
        ("s\u0326tiint\u0326a\u0306 tara\u0306", "știință țară"),
        ("Îți place înghețata?", "iti place inghetata"),
        ("Mâine merg în vacanță", "maine merg in vacanta"),
        ("Straße", "STRASSE"),
        ("Zażółć łódź", "zazolc lodz"),
        ("Smørrebrød på bordet", "smorrebrod pa bordet"),
        ("İstanbul ışık", "istanbul isik"),
        ("ｐａｓｓｐｏｒｔ ＡＢ１２", "passport ab12"),
        ("ﾗｰﾒﾝ", "ラーメン"),
        ("ёлка", "елка"),
        ("Μάθημα", "μαθημα"),
        ("مُدَرِّسَة", "مدرسه"),
        ("إسلام أحمد", "اسلام احمد"),
        ("שָׁלוֹם", "שלום"),
        ("room ٣٤٥", "room 345"),
        ("co\u00adoperate", "cooperate"),
    ],
)
def test_a21_accents_variant_letters_and_widths_make_no_other_terms(one: str, other: str) -> None:
    assert analyse(one) == analyse(other) != []


def test_a21_letters_that_a_mark_makes_another_letter_stay_apart() -> None:
    assert fold("й") != fold("и")
    assert fold("が") != fold("か")
    assert fold("ї") != fold("і")


@given(st.text(max_size=200))
def test_a21_case_and_composition_do_not_change_the_terms(text: str) -> None:
    assert analyse(unicodedata.normalize("NFD", text)) == analyse(unicodedata.normalize("NFC", text))


@pytest.mark.parametrize(
    "written", ["demisia.", "«demisia»", "(demisia)", "demisia!!!", "„demisia”", "...demisia,", "*demisia*", "demisia/"]
)
def test_a22_punctuation_is_no_part_of_a_word(written: str) -> None:
    assert analyse(written) == analyse("demisia")


def test_a22_words_that_punctuation_separates_are_words() -> None:
    assert set(analyse("bread/butter,cheese;eggs_and(milk)")) >= set(analyse("bread butter cheese eggs milk"))


# ------------------------------------------------------------------------------------------- every script, inflections


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("猫", "猫が好き"),
        ("好きな動物は？", "猫が好き"),
        ("歯医者はいつ？", "来週の水曜日に歯医者の予約があります"),
        ("ラーメン", "弟がラーメン屋を開きました"),
        ("护照在哪里？", "我的护照放在抽屉里"),
        ("แมว", "ฉันชอบแมวมาก"),
        ("Привет", "привет, как дела"),
        ("Где мои кошки?", "Кошка спит на диване"),
        ("Πού είναι η γάτα;", "Οι γάτες κοιμούνται"),
        ("أين بيت أحمد؟", "البيت قريب من المدرسة"),
        ("איפה הבית?", "קניתי בית חדש"),
        ("बिल्ली कहाँ है", "मुझे बिल्लियाँ पसंद हैं"),
        ("고양이 이름이 뭐야?", "우리 고양이가 자고 있다"),
        ("Որտե՞ղ է կատուն", "կատուն քնած է"),
        ("სად არის კატა", "კატა სახლშია"),
    ],
)
def test_f_b31_words_of_every_script_meet(question: str, message: str) -> None:
    assert meet(question, message)


def test_f_b31_the_examples_give_terms() -> None:
    assert set(analyse("猫が好き")) == {"猫", "猫が", "が好", "好", "好き"}
    assert "приве*" in analyse("Привет")
    assert "stras*" in analyse("Straße")


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("What did she say about her cats?", "My cat is ill."),
        ("Ce culoare are mașina?", "Mi-am cumpărat mașinile roșii."),
        ("Unde sunt copiii mei?", "Copiilor le place ploaia."),
        ("Wie viele Haeuser wurden besichtigt?", "Wir haben ein Haus gekauft."),
        ("Wann muss er zum Zahnarzt?", "Der Zahnarzttermin ist am Donnerstag."),
        ("¿Qué canciones te gustan?", "Esa canción es preciosa."),
        ("Quels chevaux as-tu vus ?", "Le cheval est dans la prairie."),
        ("Dove sono le mie scarpe?", "Ho perso la scarpa nella neve."),
        ("Onde estão os meus gatos?", "O gato dorme na sala."),
        ("Gdzie są moje książki?", "Zgubiłem książkę w tramwaju."),
        ("Hol vannak a kulcsaim?", "Elvesztettem a kulcsot a parkban."),
    ],
)
@pytest.mark.parametrize("spelled", [str, without_accents], ids=["with accents", "without"])
def test_memory_19_inflected_words_meet_in_many_languages(question: str, message: str, spelled: type[str]) -> None:
    assert meet(spelled(question), message)


ROMANIAN = "Mi-am cumpărat o mașină roșie săptămâna trecută."


@pytest.mark.parametrize("asked_in", [None, "ro", *(code for code in latin_languages() if code != "ro")])
@pytest.mark.parametrize("written_in", [None, "ro", "en", "hu", "tr"])
def test_memory_19_a_word_meets_itself_whatever_language_either_side_is_taken_for(
    asked_in: str | None, written_in: str | None
) -> None:
    common = meet("mașină roșie", ROMANIAN, asked_in=asked_in, written_in=written_in)
    assert {"masin*", "rosie*"} <= common


WORDS = st.text(st.sampled_from("abcdefghijklmnoprstuvzăâîșțéöüñøł"), min_size=2, max_size=12)
CODES = st.none() | st.sampled_from(latin_languages())


@given(WORDS, CODES, CODES)
def test_memory_19_every_word_but_a_function_word_meets_itself(word: str, one: str | None, other: str | None) -> None:
    if not any(fold(word) in stop_words((code,)) for code in latin_languages()):
        assert meet(f"zzz {word}", f"{word} qqq", asked_in=one, written_in=other)


@given(
    st.sampled_from(latin_languages()),
    st.sampled_from(["biblioteca", "bicicletele", "hospitals", "computers", "studenten"]),
)
def test_a_word_whose_language_cannot_be_told_meets_its_stem_in_every_language(code: str, word: str) -> None:
    assert set(analyse(word, code)) <= set(analyse(word))


# --------------------------------------------------------------------------------------------------------- languages


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "What did I say about the trip?"),
        ("ro", "Unde am pus cheile de la mașină și ce am spus?"),
        ("ro", "unde am pus cheile de la masina si ce am spus"),
        ("de", "Wo habe ich die Schlüssel hingelegt?"),
        ("es", "¿Dónde están las llaves que te di?"),
        ("fr", "Où est-ce que j'ai mis les clés de la voiture ?"),
        ("it", "Dove ho messo le chiavi della macchina che mi hai dato?"),
        ("pt", "Onde é que você pôs as chaves do meu carro?"),
        ("nl", "Waar heb ik de sleutels van mijn auto gelaten?"),
        ("sv", "Var har jag lagt nycklarna till bilen?"),
        ("pl", "Gdzie są klucze, które mi dałeś, bo nie wiem?"),
        ("hu", "Hol vannak a kulcsok, amelyeket nekem adtál?"),
        ("fi", "Missä ovat avaimet, jotka minulla olivat?"),
        ("cs", "Kde jsou klíče, které jsi mi dal?"),
        ("tr", "Bana verdiğin anahtarlar nerede, çünkü ben bulamadım?"),
    ],
)
def test_the_language_of_a_sentence_is_told(code: str, text: str) -> None:
    assert likely_languages(re.findall(r"\w+", fold(text))) == (code,)


@pytest.mark.parametrize("words", [[], ["passport"], ["dog"], ["my", "passport"], ["die", "die", "die"]])
def test_fewer_than_two_different_function_words_leave_every_language_likely(words: list[str]) -> None:
    assert likely_languages(words) == latin_languages()


def test_a_content_word_that_another_language_uses_as_a_function_word_is_kept() -> None:
    assert meet("Anna’s dog", "the dog of Anna") >= set(analyse("anna dog", "en"))
    assert meet("What did she say about her cats?", "My cat is ill.")


def test_every_language_has_a_stemmer_that_exists_or_none() -> None:
    for code, language in languages().items():
        assert language.code == code
        assert stem("word", code)
        assert all(word == fold(word) for word in language.stop)


def test_function_words_are_left_out_by_the_language_of_the_text() -> None:
    assert meet("Where is the key of the house?", "The house is on the hill.") == set(analyse("house", "en"))
    assert "die*" not in analyse("Wir haben die Katze gesehen, die nicht da war.")
    assert "die*" in analyse("Did the patient die?")


def test_a_text_of_function_words_alone_keeps_them() -> None:
    assert meet("Who are you?", "who are you")
    assert analyse("です")


def test_an_unknown_language_is_told_from_the_words() -> None:
    text = "What did I say about the trip?"
    assert analyse(text, "xx") == analyse(text, "ja") == analyse(text)


@pytest.mark.parametrize("text", ["don't", "don’t", "dont"])
def test_contractions_are_function_words_however_they_are_written(text: str) -> None:
    assert analyse(f"I {text} remember what you said.") == analyse("remember said", "en")


def test_the_owner_form_and_elided_articles_are_no_part_of_a_word() -> None:
    assert set(analyse("anna", "en")) <= set(analyse("This is Anna’s dog.", "en"))
    assert set(analyse("école", "fr")) <= set(analyse("Je vais à l'école", "fr"))


# ------------------------------------------------------------------------------------------------------- identifiers


@pytest.mark.parametrize(
    ("text", "wholes"),
    [
        ("see ABC-123.", {"abc-123", "123"}),
        ("order 550e8400-e29b-41d4-a716-446655440000!", {"550e8400-e29b-41d4-a716-446655440000", "550e8400"}),
        ("(ana.pop+bot@Example.com)", {"ana.pop+bot@example.com"}),
        ("v2.0.1-rc3", {"v2.0.1-rc3"}),
        ("iPhone15", {"iphone15", "15"}),
        ("at 10:30", {"10:30", "10", "30"}),
        ("on 2024-05-08", {"2024-05-08", "2024"}),
        ("3.14", {"3.14"}),
        ("C++ and C#", {"c++", "c#"}),
        ("192.168.0.1", {"192.168.0.1"}),
        ("RO49AAAA1B31007593840000", {"ro49aaaa1b31007593840000"}),
    ],
)
def test_identifiers_are_kept_whole_beside_their_parts(text: str, wholes: set[str]) -> None:
    assert wholes <= set(analyse(text))


@pytest.mark.parametrize(
    "written", ["0721 234 567", "+40 721 234 567", "+40721234567", "0040-721-234-567", "(0721) 234.567"]
)
def test_a_telephone_number_is_found_however_it_is_written(written: str) -> None:
    assert meet("call 0721234567", f"my number is {written}, ok") & {"721234567", "0721234567"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("U.S.A.", "USA"),
        ("1,500", "1500"),
        ("€1,234,567", "1234567"),
        ("RO49 AAAA 1B31 0075 9384 0000", "RO49AAAA1B31007593840000"),
        ("DE89 3704 0044 0532 0130 00", "de89370400440532013000"),
        ("6F9619FF-8B86-D011-B42D-00CF4FC964FF", "6f9619ff8b86d011b42d00cf4fc964ff"),
    ],
)
def test_what_only_its_punctuation_tells_apart_meets(one: str, other: str) -> None:
    (term, *_) = analyse(other)
    assert term in meet(f"was it {one} in the end?", f"it says {other}.")


@pytest.mark.parametrize("text", ["RO49 AAAA 1B31 0075 9384 0001", "in12 this that were what"])
def test_what_only_looks_like_an_account_number_is_none(text: str) -> None:
    assert "".join(text.casefold().split()) not in analyse(text)


def test_the_parts_of_identifiers_are_words() -> None:
    assert meet("which iphone did I buy?", "I bought an iPhone15.")
    assert meet("mail of Popescu", "write to ana.popescu@example.com")


# ------------------------------------------------------------------------------------------------------------ bounds


@pytest.mark.parametrize("text", ["", " \n\t", "?!...", "🎂🎂 👍🏽", "\u200b\ufeff", "---", "'", "’’’"])
def test_a_text_without_a_word_has_no_terms(text: str) -> None:
    assert analyse(text) == []


@pytest.mark.parametrize(
    "piece",
    ["a", "a ", "a.b", "猫", "1", "1 ", "(1)-", "a@", "x'", "👍", "é", "ก", "\u0301", "-", "a-1", "http://", "ﷺ"],
)
def test_a_hundred_thousand_characters_give_bounded_terms(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    terms = analyse(text)
    assert sum(map(len, terms)) <= 20 * len(fold(text))
    assert max(map(len, terms), default=0) <= 80


@given(st.text(max_size=300))
def test_any_text_gives_terms_without_white_space(text: str) -> None:
    terms = analyse(text)
    assert all(term and not any(letter.isspace() for letter in term) for term in terms)
    assert terms == analyse(text)


def test_a_repeated_word_is_repeated() -> None:
    assert analyse("tea tea tea", "en") == analyse("tea", "en") * 3


def test_threads_that_analyse_new_words_at_once_get_the_terms_of_one_thread() -> None:
    words = [
        f"{begin}{middle}{end}"
        for begin in ("wander", "copilar", "gesell")
        for middle in "aeiou"
        for end in ("ing", "ilor")
    ]
    texts = [f"{word} {other}" for word in words for other in words[:5]]
    script = (
        "import json; from goat.retrieval.terms import analyse; "
        f"print(json.dumps([analyse(text) for text in {texts!r}]))"
    )
    alone = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(analyse, texts)) == json.loads(alone.stdout)


# --------------------------------------------------------------------------------------------------------- questions


@pytest.mark.parametrize(
    "text", ["Really?", "本当に？", "أين المفتاح؟", "Πού είναι\u037e", "Is it https://x.example/a?"]
)
def test_a_question_mark_of_any_script_makes_a_question(text: str) -> None:
    assert is_question(text)
    assert is_short_question(text)


@pytest.mark.parametrize("text", ["", "Yes.", "see https://x.example/?q=1&b=2", "a; b", "no way!"])
def test_statements_and_links_are_no_questions(text: str) -> None:
    assert not is_question(text)
    assert not is_short_question(text)


def test_a_question_of_more_than_thirty_words_is_not_short() -> None:
    assert is_short_question("word " * 29 + "word?")
    assert not is_short_question("word " * 30 + "word?")
    assert is_short_question("猫" * 60 + "？")
    assert not is_short_question("猫" * 62 + "？")
    assert is_question("word " * 300 + "?")


@pytest.mark.parametrize(
    ("text", "unsure"),
    [
        ("water the cactus", {"the", "wat", "water"}),
        ("When will the plumber come to us?", set()),
        ("猫が好き", set()),
        ("KX7-4471", set()),
        ("", set()),
    ],
)
def test_of_a_text_without_a_language_the_stems_are_guesses(text: str, unsure: set[str]) -> None:
    found = guesses(text)
    assert unsure <= found
    assert not found or unsure
    assert "cactu*" not in found
