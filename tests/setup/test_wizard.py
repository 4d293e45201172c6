from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from pydantic import SecretStr

from goat.errors import ModelError
from goat.settings import Loaded, ModelEndpoint, Settings, load, provider_of
from goat.setup import (
    AlreadySetUp,
    Answers,
    Choice,
    SetupCancelled,
    answers_of,
    offer_setup,
    run_wizard,
    wants_setup,
    write_answers,
)


class ScriptedPrompts:
    """Answers questions from a script of (beginning of the question, answer) and records what was said."""

    def __init__(self, script: Iterable[tuple[str, str]] = ()) -> None:
        self.script = list(script)
        self.said: list[str] = []
        self.offered: list[list[Choice]] = []
        self.defaults: list[str] = []

    def _next(self, question: str) -> str:
        if not self.script:
            raise SetupCancelled
        expected, answer = self.script.pop(0)
        assert question.startswith(expected), question
        return answer

    async def choose(self, question: str, choices: Sequence[Choice], default: str) -> str:
        answer = self._next(question)
        self.offered.append(list(choices))
        self.defaults.append(default)
        return next(choice.value for choice in choices if answer in (choice.value, choice.title))

    async def ask(self, question: str, default: str = "") -> str:
        self.defaults.append(default)
        return self._next(question)

    async def secret(self, question: str) -> str:
        return self._next(question)

    def say(self, text: str) -> None:
        self.said.append(text)


class RecordingCheck:
    """Stands for the real call: records the endpoint, fails as often as told."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.endpoints: list[ModelEndpoint] = []

    async def __call__(self, endpoint: ModelEndpoint) -> str:
        self.endpoints.append(endpoint)
        if len(self.endpoints) <= self.failures:
            raise ModelError(endpoint.model, "the key was refused", "Check it.")
        return "Hello\nthere"


async def no_ollama() -> list[str]:
    return []


async def some_ollama() -> list[str]:
    return ["llama3.2:latest", "qwen3:8b"]


def read(home: Path, environ: dict[str, str] | None = None) -> Loaded:
    return load({"home": home}, environ=environ or {}, cwd=home)


PROVIDER, KEY, MODEL, NAME, ADDRESS, NOW = "Which provider", "Key for", "Which model", "Name of", "Address", "What now"


async def test_f_b17_the_app_meets_the_endpoint_that_was_tried_in_setup(tmp_path: Path) -> None:
    prompts, check = (
        ScriptedPrompts([(PROVIDER, "gemini"), (KEY, "g'1"), (MODEL, "gemini-3.5-flash-lite")]),
        RecordingCheck(),
    )
    answers = await run_wizard(prompts, read(tmp_path), check, find_models=no_ollama)
    loaded = read(tmp_path)
    write_answers(answers, loaded.files)
    assert check.endpoints == [provider_of(read(tmp_path).settings)]
    assert check.endpoints[0].key.get_secret_value() == "g'1"
    assert answers == Answers("gemini", "gemini-3.5-flash-lite", "", SecretStr("g'1"))
    assert "It answers: Hello there" in prompts.said


async def test_any_url_can_be_used_with_a_typed_model_and_no_key(tmp_path: Path) -> None:
    model = 'my "model" – 猫'
    prompts = ScriptedPrompts(
        [
            (PROVIDER, "other"),
            (ADDRESS, "localhost:8000"),
            (ADDRESS, "http://localhost:8000/v1"),
            (KEY, ""),
            (NAME, model),
        ]
    )
    answers = await run_wizard(prompts, read(tmp_path), RecordingCheck(), find_models=no_ollama)
    assert answers == Answers("other", model, "http://localhost:8000/v1")
    assert "'localhost:8000' must be a URL such as http://localhost:8000/v1." in prompts.said
    write_answers(answers, read(tmp_path).files)
    assert answers_of(read(tmp_path).settings) == answers


async def test_staying_offline_asks_nothing_more_and_calls_nobody(tmp_path: Path) -> None:
    check = RecordingCheck()
    answers = await run_wizard(
        ScriptedPrompts([(PROVIDER, "None: stay offline")]), read(tmp_path), check, find_models=no_ollama
    )
    assert answers == Answers("offline")
    assert not check.endpoints


async def test_a_running_ollama_is_shown_with_its_models(tmp_path: Path) -> None:
    prompts = ScriptedPrompts([(PROVIDER, "Ollama (running here, 2 models)"), (MODEL, "qwen3:8b")])
    answers = await run_wizard(prompts, read(tmp_path), RecordingCheck(), find_models=some_ollama)
    assert answers == Answers("ollama", "qwen3:8b")


async def test_an_ollama_elsewhere_is_asked_for_its_address(tmp_path: Path) -> None:
    prompts = ScriptedPrompts([(PROVIDER, "ollama"), (ADDRESS, "http://box:11434/v1"), (MODEL, "llama3.2")])
    answers = await run_wizard(prompts, read(tmp_path), RecordingCheck(), find_models=no_ollama)
    assert answers == Answers("ollama", "llama3.2", "http://box:11434/v1")


async def test_without_a_needed_key_the_choice_begins_again(tmp_path: Path) -> None:
    prompts = ScriptedPrompts([(PROVIDER, "groq"), (KEY, ""), (PROVIDER, "offline")])
    assert await run_wizard(prompts, read(tmp_path), RecordingCheck(), find_models=no_ollama) == Answers("offline")
    assert "Groq needs a key. You get one at: Groq Console, page API Keys." in prompts.said


async def test_an_implausible_key_is_asked_for_again(tmp_path: Path) -> None:
    prompts = ScriptedPrompts([(PROVIDER, "groq"), (KEY, "two words"), (KEY, " gsk1 "), (MODEL, "openai/gpt-oss-20b")])
    answers = await run_wizard(prompts, read(tmp_path), RecordingCheck(), find_models=no_ollama)
    assert answers.key.get_secret_value() == "gsk1"
    assert "The key holds spaces or characters that no key has; copy it again." in prompts.said


async def test_a_failed_call_is_explained_and_the_answers_can_be_changed(tmp_path: Path) -> None:
    details = [(PROVIDER, "groq"), (KEY, "bad"), (MODEL, "openai/gpt-oss-20b")]
    prompts = ScriptedPrompts(
        [*details, (NOW, "again"), (PROVIDER, "groq"), (KEY, "good"), (MODEL, "Another, by its name"), (NAME, "x")]
    )
    check = RecordingCheck(failures=1)
    answers = await run_wizard(prompts, read(tmp_path), check, find_models=no_ollama)
    assert answers == Answers("groq", "x", "", SecretStr("good"))
    assert "The model openai/gpt-oss-20b gave no answer: the key was refused. Check it." in prompts.said


async def test_a_failed_call_does_not_force_other_answers(tmp_path: Path) -> None:
    prompts = ScriptedPrompts([(PROVIDER, "groq"), (KEY, "k"), (MODEL, "openai/gpt-oss-20b"), (NOW, "keep")])
    answers = await run_wizard(prompts, read(tmp_path), RecordingCheck(failures=9), find_models=no_ollama)
    assert answers.provider == "groq"


async def test_setup_does_not_run_twice_unless_asked(tmp_path: Path) -> None:
    write_answers(Answers("ollama", "m"), read(tmp_path).files)
    with pytest.raises(AlreadySetUp, match="goat setup --reconfigure"):
        await run_wizard(ScriptedPrompts(), read(tmp_path), RecordingCheck(), find_models=no_ollama)


async def test_reconfiguring_begins_with_the_present_answers_and_keeps_the_key(tmp_path: Path) -> None:
    write_answers(Answers("groq", "mine", "", SecretStr("k")), read(tmp_path).files)
    prompts, check = (
        ScriptedPrompts([(PROVIDER, "groq"), ("Key for Groq (Enter keeps", ""), (MODEL, "mine")]),
        RecordingCheck(),
    )
    answers = await run_wizard(prompts, read(tmp_path), check, reconfigure=True, find_models=no_ollama)
    assert prompts.defaults == ["groq", "mine"]
    assert check.endpoints[0].key.get_secret_value() == "k"
    write_answers(answers, read(tmp_path).files)
    assert answers_of(read(tmp_path).settings) == Answers("groq", "mine", "", SecretStr("k"))


async def test_a_key_of_the_environment_is_used_but_not_written_down(tmp_path: Path) -> None:
    environ = {"GROQ_API_KEY": "from-the-environment"}
    prompts, check = ScriptedPrompts([(PROVIDER, "groq"), (KEY, ""), (MODEL, "openai/gpt-oss-20b")]), RecordingCheck()
    answers = await run_wizard(prompts, read(tmp_path, environ), check, find_models=no_ollama)
    write_answers(answers, read(tmp_path).files)
    assert check.endpoints[0].key.get_secret_value() == "from-the-environment"
    assert not (tmp_path / ".env").exists()


async def test_breaking_off_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(SetupCancelled, match="nothing was changed"):
        await run_wizard(ScriptedPrompts([(PROVIDER, "groq")]), read(tmp_path), RecordingCheck(), find_models=no_ollama)
    assert read(tmp_path).settings == Settings()


def test_f_b16_setup_starts_from_any_folder(tmp_path: Path) -> None:
    script = "from goat.setup import TerminalPrompts, run_wizard; TerminalPrompts().say('ready')"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout.strip()) == (0, "", "ready")


def test_a_first_start_is_one_without_settings_and_without_a_model(tmp_path: Path) -> None:
    assert wants_setup(read(tmp_path))
    assert not wants_setup(read(tmp_path, {"DEEPSEEK_API_KEY": "k"}))
    assert not wants_setup(read(tmp_path, {"BASE_URL": "http://localhost:1/v1"}))
    assert not wants_setup(read(tmp_path, {"GOAT_MODEL__PROVIDER": "offline"}))
    (tmp_path / "goat2.toml").write_text("")
    assert not wants_setup(read(tmp_path))


async def offer(
    home: Path, *typed: str, ollama: bool = False, terminal: bool = True
) -> tuple[Answers | None, ScriptedPrompts]:
    prompts = ScriptedPrompts([("Enter = start now, offline, s = set up a model", answer) for answer in typed])
    find = some_ollama if ollama else no_ollama
    return await offer_setup(prompts, read(home), RecordingCheck(), terminal=terminal, find_models=find), prompts


async def test_enter_starts_offline_and_the_offer_does_not_come_again(tmp_path: Path) -> None:
    answers, _ = await offer(tmp_path, "")
    assert answers == Answers()
    write_answers(answers, read(tmp_path).files)
    assert (await offer(tmp_path))[0] is None
    assert provider_of(read(tmp_path, {"GROQ_API_KEY": "k"}).settings) is not None


async def test_the_found_ollama_model_is_offered_by_name(tmp_path: Path) -> None:
    prompts = ScriptedPrompts(
        [("Enter = start now, offline, s = set up a model, o = use llama3.2:latest of Ollama:", "o")]
    )
    answers = await offer_setup(prompts, read(tmp_path), RecordingCheck(), terminal=True, find_models=some_ollama)
    assert answers == Answers("ollama", "llama3.2:latest")


async def test_without_ollama_its_letter_is_refused(tmp_path: Path) -> None:
    answers, prompts = await offer(tmp_path, "o", "x", "")
    assert answers == Answers()
    assert prompts.said[1:] == ["'o' is none of these.", "'x' is none of these."]


async def test_setup_can_begin_from_the_offer(tmp_path: Path) -> None:
    prompts = ScriptedPrompts([("Enter", "S "), (PROVIDER, "offline")])
    answers = await offer_setup(prompts, read(tmp_path), RecordingCheck(), terminal=True, find_models=no_ollama)
    assert answers == Answers("offline")


async def test_without_a_terminal_nothing_is_asked_and_nobody_looked_for(tmp_path: Path) -> None:
    async def forbidden() -> list[str]:
        raise AssertionError("looked for Ollama")

    prompts = ScriptedPrompts()
    assert await offer_setup(prompts, read(tmp_path), RecordingCheck(), terminal=False, find_models=forbidden) is None
    assert not prompts.said
