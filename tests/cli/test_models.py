"""`goat model`, `goat usage`, and what a conversation with a real endpoint shows."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from goat.cli import exits
from goat.cli.main import run
from goat.testing.llm_answers import Tokens, fails, says
from goat.testing.llm_server import LlmServer

Goat = Callable[..., int]


@pytest.fixture
def server() -> Iterator[LlmServer]:
    with LlmServer(models=("test-model",)) as running:
        yield running


@pytest.fixture
def goat(tmp_path: Path) -> Goat:
    """Run a command in a home of this test."""
    return lambda *arguments: run([*arguments, "--home", str(tmp_path)])


@pytest.fixture
def configured(server: LlmServer, tmp_path: Path) -> Path:
    """The home's settings, which lead to the server."""
    settings = tmp_path / "goat2.toml"
    settings.write_text(
        f'[model]\nprovider = "other"\nname = "test-model"\nbase_url = "{server.base_url}"\n'
        "input_price = 1.0\noutput_price = 10.0\n",
        encoding="utf-8",
    )
    return settings


def told(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """What was printed, on one line each."""
    out, err = capsys.readouterr()
    return " ".join(out.split()), " ".join(err.split())


def model_of(settings: Path) -> dict[str, object]:
    tables: dict[str, dict[str, object]] = tomllib.loads(settings.read_text("utf-8"))
    return tables["model"]


def test_the_list_has_every_known_model_with_price_and_what_is_in_use(
    goat: Goat, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "k")
    monkeypatch.setenv("GOAT_MODEL__FALLBACKS", "ollama/llama3.2")
    assert goat("model", "list", "--json") == exits.OK
    rows = {row["model"]: row for row in json.loads(capsys.readouterr().out)}
    used = {name: row["use"] for name, row in rows.items() if row["use"]}
    assert used == {"groq/openai/gpt-oss-120b": "main", "ollama/llama3.2": "fallback"}
    assert list(rows)[:2] == list(used)
    assert rows["openai/gpt-6-luna"]["output_price"] == 0.5
    assert rows["openai/gpt-6.2-sol"]["output_price"] is None
    assert rows["groq/openai/gpt-oss-20b"]["key"] == "set"
    assert rows["gemini/gemini-3.8-flash"]["key"] == "missing"
    assert goat("model", "list") == exits.OK
    out, _ = told(capsys)
    assert "● groq/openai/gpt-oss-120b 131k 0.15 ? 0.6 set" in out


def test_a_model_is_tried_with_one_call(
    goat: Goat, configured: Path, server: LlmServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script(says("Hello there!", pieces=3).costing(Tokens(1000, 20)))
    assert goat("model", "test") == exits.OK
    out, _ = told(capsys)
    assert out.startswith("Hello there! other/test-model: first words after ")
    assert out.endswith("1,000 → 20 tokens · $0.0012")


def test_a_model_that_does_not_answer_is_told_with_its_reason(
    goat: Goat, configured: Path, server: LlmServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script(fails(404))
    assert goat("model", "test") == exits.MODEL
    assert "knows no such model or path" in told(capsys)[1]


def test_without_a_model_there_is_nothing_to_try(goat: Goat, capsys: pytest.CaptureFixture[str]) -> None:
    assert goat("model", "test") == exits.USAGE
    assert "goat setup" in told(capsys)[1]


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("ollama", "ollama", "qwen3:8b"),
        ("ollama/mistral", "ollama", "mistral"),
        ("llama3.2", "ollama", "llama3.2"),
        ("gguf/models/small.gguf", "gguf", "models/small.gguf"),
        ("gguf//models/small.gguf", "gguf", "/models/small.gguf"),
    ],
)
def test_a_model_is_chosen_by_its_name_and_the_rest_of_the_file_stays(
    goat: Goat, configured: Path, name: str, provider: str, model: str
) -> None:
    assert goat("model", "use", name) == exits.OK
    assert model_of(configured) == {"provider": provider, "name": model, "input_price": 1.0, "output_price": 10.0}
    assert configured.with_name("goat2.toml.backup").exists()


def test_another_model_at_the_same_address_keeps_the_address(goat: Goat, configured: Path, server: LlmServer) -> None:
    assert goat("model", "use", "other/better-model") == exits.OK
    assert model_of(configured)["base_url"] == server.base_url


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("groq", "needs a key: put GROQ_API_KEY into .env"),
        ("llama3.3", "did you mean 'llama3.2'?"),
        ("gguf", "needs the path of a file"),
    ],
)
def test_what_cannot_be_used_is_told_and_nothing_is_written(
    goat: Goat, configured: Path, name: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = configured.read_bytes()
    assert goat("model", "use", name) == exits.USAGE
    assert problem in told(capsys)[1]
    assert configured.read_bytes() == before


def test_a_choice_that_the_environment_outranks_is_told(
    goat: Goat, configured: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_NAME", "another")
    assert goat("model", "use", "ollama/llama3.2") == exits.OK
    assert "MODEL_NAME in the environment outranks" in told(capsys)[1]


def test_usage_is_listed_by_day_owner_and_model_with_its_sum(
    goat: Goat, configured: Path, server: LlmServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.script(*(says("Fine.").costing(Tokens(1000, 100, cached=400)) for _ in range(3)))
    for owner in ("ana", "ana", "bob"):
        assert goat("ask", "hello", "--owner", owner) == exits.OK
    capsys.readouterr()
    assert goat("usage", "--json") == exits.OK
    document = json.loads(capsys.readouterr().out)
    assert [(day["owner"], day["calls"], day["prompt_tokens"]) for day in document["days"]] == [
        ("ana", 2, 2000),
        ("bob", 1, 1000),
    ]
    assert document["spent_today_usd"] == pytest.approx(3 * (1000 * 1.0 + 100 * 10.0) / 1e6)
    assert goat("usage", "--owner", "bob") == exits.OK
    out, _ = told(capsys)
    assert "bob other/test-model 1 1,000 400 100 $0.002" in out
    assert "ana" not in out


def test_a_cost_that_is_not_known_is_shown_as_unknown_and_never_as_0(
    goat: Goat, configured: Path, server: LlmServer, capsys: pytest.CaptureFixture[str]
) -> None:
    configured.write_text(configured.read_text("utf-8").partition("input_price")[0], encoding="utf-8")
    server.script(says("Fine.").costing(Tokens(1000, 100)), says("Fine.").costing(Tokens(1000, 100)))
    goat("ask", "hello")
    goat("model", "test")
    assert "cost unknown" in told(capsys)[0]
    goat("usage", "--json")
    (day,) = json.loads(capsys.readouterr().out)["days"]
    assert (day["cost_usd"], day["unpriced"]) == (None, 1)
    goat("usage")
    out, _ = told(capsys)
    assert "1,000 0 100 ?" in out
    assert "not in the sums" in out


def test_without_a_call_there_is_no_usage(goat: Goat, capsys: pytest.CaptureFixture[str]) -> None:
    assert goat("usage") == exits.OK
    assert "No language model was called" in told(capsys)[0]


def test_telegram_d11_the_daily_limit_is_a_sentence_and_an_exit_code(
    goat: Goat, configured: Path, server: LlmServer, capsys: pytest.CaptureFixture[str]
) -> None:
    with configured.open("a", encoding="utf-8") as settings:
        settings.write("daily_limit_usd = 0.001\n")
    server.script(says("Fine.").costing(Tokens(1000, 100)))
    assert goat("ask", "hello") == exits.OK
    assert goat("ask", "hello again") == exits.MODEL
    assert "today's limit of $0.001 is reached ($0.002 spent)" in told(capsys)[1]
    assert len(server.prompts) == 1


def test_a_fallback_is_told_below_the_reply(
    goat: Goat, configured: Path, server: LlmServer, capsys: pytest.CaptureFixture[str]
) -> None:
    with configured.open("a", encoding="utf-8") as settings:
        settings.write('fallbacks = ["other/test-model"]\n')
    server.script(fails(401), says("Fine."))
    assert goat("ask", "hello") == exits.OK
    out, err = told(capsys)
    assert out == "Fine."
    assert "(test-model answers, because another could not (test-model: the key was refused" in err


def test_a_fallback_that_lacks_its_key_is_told_at_the_start(
    goat: Goat, configured: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with configured.open("a", encoding="utf-8") as settings:
        settings.write('fallbacks = ["groq/openai/gpt-oss-20b", "nonsense"]\n')
    assert goat("ask", "hello") == exits.USAGE
    _, err = told(capsys)
    assert "[model] fallbacks, 'groq/openai/gpt-oss-20b': provider 'groq' needs a key" in err
    assert "[model] fallbacks, 'nonsense'" in err
