"""Setup that does not go well: broken off, without a terminal, without a network, over files of another time."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from goat.app import try_model
from goat.cli import exits
from goat.cli.main import run
from goat.cli.session import at_keyboard
from goat.errors import ModelError, SettingsError
from goat.settings import Loaded, load, provider_of
from goat.setup import Answers, Choice, SetupCancelled, answers_of, run_wizard, write_answers
from goat.testing.llm_answers import fails, says
from goat.testing.llm_server import LlmServer

KEY = "sk-setup-1234567890"


class Typed:
    """A person who gives these answers, one after another, and then presses Ctrl-C."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.said: list[str] = []

    def _next(self) -> str:
        if not self._answers:
            raise SetupCancelled
        return self._answers.pop(0)

    async def choose(self, question: str, choices: list[Choice], default: str) -> str:
        answer = self._next()
        return next(choice.value for choice in choices if answer in (choice.value, choice.title))

    async def ask(self, question: str, default: str = "") -> str:
        return self._next()

    async def secret(self, question: str) -> str:
        return self._next()

    def say(self, text: str) -> None:
        self.said.append(text)


async def nobody() -> list[str]:
    return []


def read(home: Path) -> Loaded:
    return load({"home": home}, environ={}, cwd=home)


def held(home: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in home.iterdir()}


def whole(url: str) -> tuple[str, ...]:
    """All answers of a setup with an endpoint at an address."""
    return ("other", url, KEY, "a-model")


@pytest.mark.parametrize("given", range(4))
@pytest.mark.parametrize("before", [None, Answers("groq", "mine", "", SecretStr("k"))], ids=["new", "set up"])
async def test_telegram_j5_ctrl_c_at_any_question_changes_nothing_and_the_next_run_goes_through(
    given: int, before: Answers | None, tmp_path: Path
) -> None:
    if before is not None:
        write_answers(before, read(tmp_path).files)
    stood = held(tmp_path)
    with LlmServer(models=("a-model",)) as llm:
        llm.always(says("Hello."))
        url = llm.base_url
        answers = whole(url)
        with pytest.raises(SetupCancelled, match="nothing was changed"):
            await run_wizard(Typed(*answers[:given]), read(tmp_path), try_model, reconfigure=True, find_models=nobody)
        assert held(tmp_path) == stood
        assert llm.prompts == []
        made = await run_wizard(Typed(*answers), read(tmp_path), try_model, reconfigure=True, find_models=nobody)
        write_answers(made, read(tmp_path).files)
        assert len(llm.prompts) == 1  # one real completion
    assert answers_of(read(tmp_path).settings) == Answers("other", "a-model", url, SecretStr(KEY))


@pytest.mark.parametrize(
    ("status", "message", "told"),
    [(401, "Incorrect API key provided", "key"), (402, "Insufficient Balance", "credit")],
    ids=["wrong key", "no credit"],
)
async def test_telegram_j5_a_key_that_cannot_pay_or_is_wrong_is_told_and_can_be_corrected(
    status: int, message: str, told: str, tmp_path: Path
) -> None:
    with LlmServer(models=("a-model",)) as llm:
        llm.script(fails(status, message), says("Hello."))
        person = Typed(*whole(llm.base_url), "again", *whole(llm.base_url))
        await run_wizard(person, read(tmp_path), try_model, find_models=nobody)
    [refusal] = [one for one in person.said if "gave no answer" in one]
    assert told in refusal
    assert KEY not in refusal
    assert held(tmp_path) == {}


async def test_telegram_j5_offline_it_says_what_failed_and_the_answers_can_be_kept_for_later(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    person = Typed(*whole(url), "keep")
    made = await run_wizard(person, read(tmp_path), try_model, find_models=nobody)
    write_answers(made, read(tmp_path).files)
    assert any("connection" in one for one in person.said)
    endpoint = provider_of(read(tmp_path).settings)
    assert endpoint is not None
    with pytest.raises(ModelError):
        await try_model(endpoint)


def test_telegram_j5_without_a_terminal_it_names_the_way_without_questions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not at_keyboard()
    assert run(["setup", "--home", str(tmp_path)]) == exits.FAILED
    told = capsys.readouterr().err
    assert "goat model use" in told
    assert ".env" in told
    assert held(tmp_path) == {}
    (tmp_path / ".env").write_text(f"DEEPSEEK_API_KEY={KEY}\n", encoding="utf-8")
    assert run(["model", "use", "deepseek", "--home", str(tmp_path)]) == exits.OK
    endpoint = provider_of(read(tmp_path).settings)
    assert endpoint is not None
    assert (endpoint.provider, endpoint.key.get_secret_value()) == ("deepseek", KEY)


def test_telegram_j5_settings_of_a_newer_version_are_named_and_kept(tmp_path: Path) -> None:
    newer = '[model]\nprovider = "groq"\nname = "m"\n\n[telepathy]\nreach = 3\n'
    (tmp_path / "goat2.toml").write_text(newer, encoding="utf-8")
    with pytest.raises(SettingsError, match="telepathy"):
        read(tmp_path)
    loaded = load({"home": tmp_path}, environ={}, cwd=tmp_path, skip_toml=True)
    [copy] = write_answers(Answers("ollama", "mine"), loaded.files, fresh=True)
    assert copy.read_text(encoding="utf-8") == newer
    assert answers_of(read(tmp_path).settings) == Answers("ollama", "mine")


def test_telegram_j5_in_an_ascii_locale_every_name_is_written_and_read(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from goat.settings import load; from goat.setup import *; home = "
        "Path(sys.argv[1]); files = load({'home': home}, environ={}, cwd=home).files; "
        "write_answers(Answers('ollama', '\\u732b \\u0219i c\\u00e2ine'), files); "
        "print(ascii(load({'home': home}, environ={}, cwd=home).settings.model.name))"
    )
    home = tmp_path / "dosar ăâ"
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-c", script, str(home)]
    done = subprocess.run(command, capture_output=True, env={**os.environ, **plain}, timeout=90, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().strip() == ascii("猫 și câine")
    shown = [sys.executable, "-m", "goat", "status", "--home", str(home)]
    status = subprocess.run(shown, capture_output=True, env={**os.environ, **plain}, timeout=90, check=False)
    assert status.returncode == 0, status.stderr


def test_telegram_j5_a_file_that_cannot_take_its_place_leaves_the_old_one_and_no_half(tmp_path: Path) -> None:
    write_answers(Answers("groq", "mine", "", SecretStr("k")), read(tmp_path).files)
    files = read(tmp_path).files
    stood = files.env.read_bytes()
    files.toml.unlink()
    files.toml.mkdir()  # nothing can be put in its place
    (files.toml / "x").touch()
    with pytest.raises(Exception, match=r"goat2\.toml"):
        write_answers(Answers("groq", "other", "", SecretStr("k2")), files)
    assert files.env.read_bytes() in (stood, stood.replace(b"=k\n", b"=k2\n"))
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".goat2.toml.")]
