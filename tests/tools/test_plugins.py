"""Plugins come, change, fail and go while turns go on."""

from __future__ import annotations

import asyncio
import shutil
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from goat.records.turns import Notice
from goat.tools.plugins import PluginManager
from goat.tools.toolbox import Toolbox

CLOSING = """
def close():
    with open({!r}, 'a') as log:
        log.write('closed ')
"""

TEMPLATE = """
from goat.tools import tool

{top}

@tool
async def {name}() -> str:
    "Say a word."
    return {value}

def build(registry):
    return [{name}]

{bottom}
"""


def source(value: str = "1", name: str = "word", top: str = "", bottom: str = "") -> str:
    return TEMPLATE.format(value=value if value.endswith(")") else repr(value), name=name, top=top, bottom=bottom)


class Folder:
    """A folder of plugins and the one who loads them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.told: list[Notice] = []
        self.manager = PluginManager([path], {"who": "registry"}, tell=self.told.append, linger_seconds=0)

    def write(self, name: str, text: str) -> None:
        file = self.path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)

    async def scan(self) -> bool:
        return await self.manager.scan()

    async def call(self, name: str = "word") -> Any:
        found = Toolbox.of(self.manager.tools).find(name)
        assert found is not None
        return await found.handler()

    @property
    def names(self) -> list[str]:
        return [tool.name for tool in self.manager.tools]

    @property
    def error(self) -> str:
        return self.manager.status()[0].error


@pytest.fixture
async def folder(tmp_path: Path) -> AsyncIterator[Folder]:
    one = Folder(tmp_path)
    yield one
    await one.manager.close()


async def test_a_file_becomes_a_tool_and_a_change_changes_it(folder: Folder) -> None:
    folder.write("a.py", source("one"))
    assert await folder.scan()
    assert await folder.call() == "one"
    folder.write("a.py", source("two"))
    assert await folder.scan()
    assert await folder.call() == "two"
    assert not await folder.scan(), "nothing changed"


async def test_two_saves_of_one_length_in_one_second_are_told_apart(folder: Folder) -> None:
    for value in ("one", "two", "six"):
        folder.write("a.py", source(value))
        await folder.scan()
        assert await folder.call() == value


BROKEN = {
    "late exception": source("2", bottom="raise RuntimeError('late')"),
    "half written": source("2")[:40] + "(",
    "exit": source("2", bottom="import sys; sys.exit(1)"),
    "no list": "def build(registry): return 'tools'",
    "build fails": "def build(registry): raise KeyError('x')",
    "async build": "async def build(registry): return []",
    "two of a name": source("2", bottom="def build(registry): return [word, word]"),
    "bad schema": source("2", top="from goat.tools import tool as t\n@t\nasync def bad(x): 'x'"),
    "missing import": source("2", top="import no_such_module_anywhere"),
}


@pytest.mark.parametrize("how", BROKEN)
async def test_f_b08_a_broken_version_leaves_the_last_good_one(folder: Folder, how: str) -> None:
    folder.write("a.py", source("one"))
    folder.write("b.py", source("other", name="other"))
    await folder.scan()
    folder.write("a.py", BROKEN[how])
    await folder.scan()
    assert await folder.call() == "one"
    assert folder.names == ["word", "other"]
    assert folder.error
    assert folder.told[-1].subject == "plugin a.py"
    folder.write("a.py", source("three"))
    await folder.scan()
    assert (await folder.call(), folder.error) == ("three", "")


async def test_telegram_i2_an_import_that_hangs_keeps_nothing_else_waiting(folder: Folder) -> None:
    folder.manager.import_seconds = 1.0
    folder.write("a.py", source("slow", top="import time; time.sleep(2.5)"))
    folder.write("b.py", source("quick", name="quick"))
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.ensure_future(tick())
    await folder.scan()
    ticking.cancel()
    assert folder.names == ["quick"]
    assert "longer than 1 second to" in folder.error
    assert ticks > 5
    await asyncio.to_thread(time.sleep, 2)


async def test_telegram_i1_a_turn_keeps_its_snapshot(folder: Folder) -> None:
    folder.write("a.py", source("one"))
    await folder.scan()
    snapshot = Toolbox.of(folder.manager.tools)
    folder.write("a.py", source("two", name="renamed"))
    await folder.scan()
    kept = snapshot.find("word")
    assert kept is not None
    assert await kept.handler() == "one"
    assert folder.names == ["renamed"]


async def test_telegram_i4_a_folder_is_one_plugin_and_its_helpers_are_fresh(folder: Folder) -> None:
    folder.write("pack/__init__.py", source("value()", top="from .util import value"))
    folder.write("pack/util.py", "def value(): return 'one'")
    await folder.scan()
    assert await folder.call() == "one"
    folder.write("pack/util.py", "def value(): return 'two'")
    assert await folder.scan()
    assert await folder.call() == "two"
    (folder.path / "pack").rename(folder.path / "moved")
    await folder.scan()
    assert [status.name for status in folder.manager.status()] == ["moved"]
    shutil.rmtree(folder.path / "moved")
    await folder.scan()
    assert folder.names == []


async def test_telegram_i4_resources_are_closed_and_no_module_stays(folder: Folder) -> None:
    before = {name for name in sys.modules if name.startswith("goat_plugin_")}
    log = folder.path / "log"
    closing = CLOSING.format(str(log))
    for n in range(4):
        folder.write("a.py", source(str(n), bottom=closing))
        await folder.scan()
    (folder.path / "a.py").unlink()
    await folder.scan()
    await folder.scan()
    assert log.read_text().split() == ["closed"] * 4
    assert {name for name in sys.modules if name.startswith("goat_plugin_")} == before


async def test_a_replaced_version_is_closed_only_after_the_turns_that_use_it(folder: Folder) -> None:
    folder.manager.linger_seconds = 600
    log = folder.path / "log"
    folder.write("a.py", source("1", bottom=CLOSING.format(str(log))))
    await folder.scan()
    folder.write("a.py", source("2"))
    await folder.scan()
    assert not log.exists()
    await folder.manager.close()
    assert log.read_text() == "closed "


async def test_telegram_i3_saves_that_race_end_with_the_newest(folder: Folder) -> None:
    folder.write("a.py", source("0"))
    scans = [asyncio.ensure_future(folder.scan())]
    for n in range(1, 6):
        await asyncio.sleep(0.02)
        folder.write("a.py", source(str(n)))
        scans.append(asyncio.ensure_future(folder.scan()))
    await asyncio.gather(*scans)
    assert await folder.call() == "5"


async def test_hidden_files_notes_and_helpers_without_build_are_no_plugins(folder: Folder) -> None:
    for name in (".a.py", "_b.py", "notes.txt"):
        folder.write(name, "raise RuntimeError")
    folder.write("helper.py", "VALUE = 1")
    await folder.scan()
    assert [(status.name, status.tools, status.error) for status in folder.manager.status()] == [("helper.py", (), "")]


async def test_the_registry_is_handed_over_and_the_source_is_known(folder: Folder) -> None:
    folder.write("a.py", source("1", bottom="def build(registry): assert registry['who'] == 'registry'; return [word]"))
    await folder.scan()
    assert [tool.source for tool in folder.manager.tools] == ["a.py"]


async def test_a_change_is_noticed_by_itself(folder: Folder) -> None:
    async with folder.manager.running(seconds=0.2):
        folder.write("a.py", source("one"))
        for _ in range(1500):
            if folder.names:
                break
            await asyncio.sleep(0.02)
        assert folder.names == ["word"]
