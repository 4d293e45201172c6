"""The bundled tools and the examples come through the one door, and their names and schemas are usable."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from goat.adapters.clock_system import SystemClock
from goat.plugins.browser import CHROMIUMS
from goat.plugins.door import Survey, plugins_at_work, survey
from goat.records.tools import Question, Verdict
from goat.records.turns import Notice
from goat.settings import Settings
from goat.testing.app import memory_app
from goat.tools import ToolContext
from goat.tools.plugins import PluginManager
from goat.tools.toolbox import Toolbox

ROOT = Path(__file__).parent.parent.parent
BUNDLED = {
    *(["browse_page"] if next(filter(None, map(shutil.which, CHROMIUMS)), None) else []),
    "fetch_content",
    "get_memory_metrics",
    "get_recent_logs",
    "grep_files",
    "list_files",
    "read_file",
    "search_files",
    "shell_run",
    "web_search",
    "write_file",
}


async def surveyed(home: Path) -> Survey:
    return await survey(Settings(), home)


async def test_all_bundled_tools_are_there_and_carry_a_schema(tmp_path: Path) -> None:
    found = await surveyed(tmp_path)
    assert {tool.name for tool in found.bundled} == BUNDLED
    for tool in found.bundled:
        assert json.loads(json.dumps(tool.spec.parameters))["type"] == "object"
        assert tool.guests == "deny", f"{tool.name} works on the machine of the person who runs GOAT"


async def test_no_bundled_tool_has_the_name_of_a_memory_tool(tmp_path: Path) -> None:
    found = await surveyed(tmp_path)
    async with memory_app() as app:
        assert not {tool.name for tool in app.acting.outfit.toolbox()} & {tool.name for tool in found.bundled}


async def test_f_b09_a_plugin_cannot_take_the_name_of_a_bundled_tool(tmp_path: Path) -> None:
    (tmp_path / "plugins").mkdir()
    text = "from goat.tools import tool\n@tool\nasync def read_file() -> str:\n    'Mine.'\n    return ''\n"
    (tmp_path / "plugins" / "mine.py").write_text(text + "def build(registry): return [read_file]\n")
    found = await surveyed(tmp_path)
    assert [(one.tool, one.source) for one in found.refused] == [("read_file", "mine.py")]


@pytest.fixture
async def examples(tmp_path: Path) -> Toolbox:
    shutil.copytree(ROOT / "examples" / "plugins", tmp_path / "plugins")
    manager = PluginManager([tmp_path / "plugins"], None)
    await manager.scan()
    assert [status.error for status in manager.status()] == ["", ""]
    return Toolbox.of(manager.tools)


async def test_the_examples_load_and_work(examples: Toolbox, tmp_path: Path) -> None:
    context = ToolContext("ana", "home", tmp_path, SystemClock(""))
    dice, add, read = (examples.find(name) for name in ("roll_dice", "add_note", "read_note"))
    assert dice
    assert add
    assert read
    assert await dice.handler(sides=2, times=5)
    assert await add.handler(context, text="buy milk") == "note 1"
    assert await read.handler(context, number=1) == "buy milk"


def test_the_page_on_plugins_shows_a_plugin_that_loads(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    code = page.partition("```python\n")[2].partition("```")[0]
    made: dict[str, object] = {}
    exec(compile(code, "docs/plugins.md", "exec"), made)
    build = made["build"]
    assert callable(build)
    assert [tool.name for tool in build(None)] == ["roll_dice"]


async def test_telegram_f1_after_a_restart_an_open_question_is_told_as_expired(tmp_path: Path) -> None:
    told: list[Notice] = []
    async with memory_app() as app:
        now = app.backends.clock.now()
        asked = await app.backends.approvals.open(Question(0, "admin", "t", "shell_run", "shell_run", "d", now, now))
        journal, name = app.backends.journal, app.backends.embedder.name
        async with plugins_at_work(Settings(), tmp_path, app.acting, journal, name, app.memory, told.append):
            assert {tool.name for tool in app.acting.outfit.toolbox()} >= BUNDLED
        assert [notice.subject for notice in told] == ["approvals"]
        assert "shell_run" in told[0].text
        assert not await app.backends.approvals.close(asked.id, Verdict.YES, now)
