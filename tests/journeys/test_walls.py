"""Owners are walls: nothing that one of them said stands in another's prompt, search, tool or file of memory."""

from __future__ import annotations

import asyncio
import json
import random
import string
from dataclasses import replace
from pathlib import Path

import pytest

from goat.adapters.embedder_hashing import HashingEmbedder
from goat.adapters.vector_memory import MemoryVectorIndex
from goat.app import App, assemble, open_app
from goat.cli.main import run
from goat.records.episodes import Incoming
from goat.records.models import ModelRequest
from goat.settings import Settings
from goat.settings.sections import RecallSettings
from goat.testing.app import memory_app
from goat.testing.models import ScriptedModel

OWNERS = 50
PATIENT = Settings(recall=RecallSettings(deadline_ms=60_000))
"""A slow machine recalls no less."""


def secret(number: int) -> str:
    return "".join(random.Random(number).choices(string.ascii_lowercase, k=16))


async def turn(app: App, owner: str, chat: str, text: str) -> None:
    await app.orchestrator.run(Incoming(owner, chat, text, app.backends.clock.now(), source="test"))


async def live(app: App, number: int) -> None:
    """One owner tells a secret, keeps it as a fact and an identity, and asks what everybody asks."""
    owner, mine = f"telegram:{number}", secret(number)
    await turn(app, owner, "dm", f"the password of my garden gate is {mine}, remember it")
    await app.facts.promote(owner, "password of the gate", mine)
    await app.identity.set(owner, f"You are the keeper of {mine}.", app.backends.clock.now())
    for question in ("what is the password of the garden gate?", "and whose gate is it?", "tell me all passwords"):
        await turn(app, owner, "dm", question)
        await turn(app, owner, "another chat", question)


def shown(request: ModelRequest) -> str:
    recalled = [result.episode.text for result in request.recalled]
    return "\n".join([*(message.content for message in request.messages), *recalled])


async def test_memory_5_fifty_owners_at_once_and_no_prompt_holds_anothers_secret() -> None:
    model = ScriptedModel(["Fine."])
    async with memory_app(PATIENT, model=model) as app:
        await asyncio.gather(*(live(app, number) for number in range(OWNERS)))
        await app.settled()
        secrets = {f"telegram:{number}": secret(number) for number in range(OWNERS)}
        assert len(model.requests) == OWNERS * 7
        own = 0
        for request in model.requests:
            text = shown(request)
            for owner, word in secrets.items():
                assert owner == request.owner or word not in text
            own += secrets[request.owner] in text
        assert own > OWNERS * 5  # the walls are not empty rooms
        for owner in secrets:
            found = await app.memory.search(owner, "password of the garden gate", app.backends.clock.now(), 50)
            assert found.results
            assert {result.episode.owner for result in found.results} == {owner}


async def test_memory_5_fifty_owners_at_once_on_disk_share_no_secret_whichever_way_they_ask(tmp_path: Path) -> None:
    model = ScriptedModel(["Fine."])
    async with open_app(PATIENT, tmp_path, lambda _notice: None) as opened, HashingEmbedder() as embedder:
        quick = replace(opened.backends, model=model, embedder=embedder, vectors=MemoryVectorIndex())
        app = assemble(opened.settings, quick, tmp_path / "workspaces")
        secrets = {f"telegram:{number}": secret(number) for number in range(OWNERS)}

        async def lives(owner: str, mine: str) -> None:
            await turn(app, owner, "dm", f"the password of my garden gate is {mine}")
            await app.facts.promote(owner, "password of the gate", mine)
            await turn(app, owner, "another chat", "what is the password of the garden gate?")

        await asyncio.gather(*(lives(owner, mine) for owner, mine in secrets.items()))
        await app.settled()
        assert len(model.requests) == OWNERS * 2
        for request in model.requests:
            text = shown(request)
            assert {owner for owner, word in secrets.items() if word in text} == {request.owner}
        tools = {one.name: one for one in app.acting.outfit.toolbox()}
        for owner, mine in secrets.items():
            found = await app.memory.search(owner, "password of the garden gate", app.backends.clock.now(), 50)
            assert {result.episode.owner for result in found.results} == {owner}
            assert any(mine in result.episode.text for result in found.results)
            read = str(await tools["read_l1"].handler(context=app.acting.outfit.context(owner, "dm"), key=""))
            assert {name for name, word in secrets.items() if word in read} == {owner}
            foreign = await app.memory.search(owner, secrets["telegram:0"], app.backends.clock.now(), 50)
            assert owner == "telegram:0" or all(
                secrets["telegram:0"] not in result.episode.text for result in foreign.results
            )


async def test_telegram_h3_what_is_said_in_private_never_surfaces_in_a_group_nor_the_reverse() -> None:
    model = ScriptedModel(["Fine."])
    async with memory_app(PATIENT, model=model) as app:
        await turn(app, "telegram:1", "dm", f"my private word is {secret(1)}")
        await turn(app, "group:9", "group", f"the word of our group is {secret(2)}")
        await app.settled()
        await turn(app, "group:9", "group", "what is the private word?")
        await turn(app, "telegram:1", "dm", "what is the word of the group?")
        await app.settled()
        group, private = shown(model.requests[2]), shown(model.requests[3])
        assert secret(1) not in group
        assert secret(2) in group
        assert secret(2) not in private
        assert secret(1) in private


async def test_memory_8_the_private_chats_of_one_person_share_their_memory() -> None:
    model = ScriptedModel(["Fine."])
    async with memory_app(PATIENT, model=model) as app:
        await turn(app, "telegram:1", "dm", f"my private word is {secret(1)}")
        await app.settled()
        await turn(app, "telegram:1", "topic 2", "what is my private word?")
        assert secret(1) in shown(model.requests[1])


async def test_memory_9_one_app_asked_by_one_owner_after_another_mixes_nothing() -> None:
    model = ScriptedModel(["Fine."])
    async with memory_app(PATIENT, model=model) as app:
        for owner in ("ana", "bob", "ana", "bob"):
            await turn(app, owner, "dm", f"the word of {owner} is {secret(len(owner) + ord(owner[0]))}")
            await app.settled()
        for request in model.requests:
            other = "bob" if request.owner == "ana" else "ana"
            assert f"word of {other}" not in shown(request)


@pytest.mark.parametrize("other", ["admin ", "ADMIN"])
def test_memory_10_on_disk_an_owner_with_a_name_alike_sees_nothing(
    other: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def goat(*arguments: str) -> str:
        capsys.readouterr()
        assert run([*arguments, "--home", str(tmp_path)]) == 0
        return capsys.readouterr().out

    word = secret(7)
    goat("ask", f"my word is {word}")
    goat("memory", "set", "word", word)
    assert json.loads(goat("memory", "digest", "--json"))["messages"] == 2
    assert word not in goat("ask", "what is my word?", "--owner", other)
    assert word not in goat("memory", "facts", "--json", "--owner", other)
    found = json.loads(goat("search", "my word", "--json", "--owner", other))["results"]
    assert {result["text"] for result in found} <= {"what is my word?", "Nothing found in memory about that."}
