from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from goat.errors import SettingsError
from goat.records.usage import Usage
from goat.settings import (
    GGUF,
    OTHER,
    ModelEndpoint,
    Price,
    Settings,
    endpoint_named,
    fallbacks_of,
    fitted,
    provider_at,
    provider_of,
    providers,
)
from goat.settings.catalogue import catalogue
from goat.settings.sections import KeySettings, ModelSettings


def chosen(keys: dict[str, str] | None = None, **model: Any) -> ModelEndpoint | None:
    return provider_of(Settings(model=ModelSettings(**model), keys=KeySettings(**(keys or {}))))


def certainly(keys: dict[str, str] | None = None, **model: Any) -> ModelEndpoint:
    endpoint = chosen(keys, **model)
    assert endpoint is not None
    return endpoint


def test_the_table_holds_the_providers_of_the_sources_and_any_url() -> None:
    assert list(providers()) == [
        "deepseek", "openai", "anthropic", "groq", "ollama", "gguf", "openrouter", "gemini", "other",
    ]  # fmt: skip
    assert [row.id for row in providers().values() if row.recommended] == ["deepseek"]


def test_every_provider_can_be_used_as_it_stands() -> None:
    for row in providers().values():
        if row.id not in {OTHER, GGUF}:
            assert row.models, row.id
            assert ModelSettings(base_url=row.base_url).base_url, row.id
            assert certainly({row.id: "k"} if row.env_key else {}, provider=row.id).model == row.models[0]


def test_every_key_name_of_the_table_is_read_into_the_keys() -> None:
    for row in providers().values():
        if row.env_key:
            assert catalogue()[f"keys.{row.id}"].environment[0] == row.env_key


def test_without_provider_url_and_key_goat_is_offline() -> None:
    assert chosen() is None


def test_offline_holds_even_when_keys_are_set() -> None:
    assert chosen({"deepseek": "k"}, provider="offline") is None


def test_f_b17_the_provider_model_and_url_that_are_set_are_the_ones_used() -> None:
    endpoint = certainly({"openrouter": "k"}, provider="openrouter", name="some/model", base_url="http://proxy/v1")
    assert endpoint == ModelEndpoint(
        "openrouter", "some/model", "http://proxy/v1", SecretStr("k"), "OPENROUTER_API_KEY"
    )


@pytest.mark.parametrize("provider", ["openrouter", "anthropic", "gemini"])
def test_f_b17_no_provider_is_taken_for_another(provider: str) -> None:
    endpoint = certainly({provider: "own", "openai": "foreign"}, provider=provider)
    assert endpoint.base_url == providers()[provider].base_url
    assert endpoint.key.get_secret_value() == "own"


def test_f_b17_ollama_needs_no_dummy_key() -> None:
    endpoint = certainly(provider="ollama", name="llama3.2")
    assert (endpoint.base_url, endpoint.key.get_secret_value()) == ("http://localhost:11434/v1", "")


def test_without_a_provider_the_first_with_a_key_is_taken() -> None:
    assert certainly({"gemini": "g", "groq": "q"}).provider == "groq"
    assert certainly({"deepseek": "d"}, name="deepseek-v4-pro").model == "deepseek-v4-pro"


def test_without_a_provider_the_url_decides() -> None:
    endpoint = certainly({"groq": "q", "deepseek": "d"}, base_url="https://api.groq.com/openai/v1")
    assert (endpoint.provider, endpoint.key.get_secret_value()) == ("groq", "q")


def test_a_key_is_not_sent_to_a_url_that_is_not_its_providers() -> None:
    endpoint = certainly({"openai": "sk", "deepseek": "d"}, base_url="http://api.openai.com.evil/v1", name="m")
    assert (endpoint.provider, endpoint.key.get_secret_value()) == ("other", "")


def test_the_general_key_is_sent_to_any_url() -> None:
    endpoint = certainly({"other": "k"}, base_url="http://localhost:8000/v1", name="m")
    assert (endpoint.key.get_secret_value(), endpoint.key_name) == ("k", "MODEL_API_KEY")


def test_an_url_that_holds_no_known_host_is_another_providers() -> None:
    assert provider_at("http://localhost:11434/v1").id == "ollama"
    assert provider_at("http://localhost:9999/v1").id == "other"


def test_a_missing_key_is_named_with_the_way_out() -> None:
    with pytest.raises(SettingsError, match=r"'groq' needs a key: put GROQ_API_KEY into .env .* or run `goat setup`"):
        chosen(provider="groq")


def test_everything_that_is_missing_is_named_at_once() -> None:
    with pytest.raises(SettingsError) as refused:
        chosen(base_url="http://localhost:8000/v1")
    assert refused.value.faults == ("provider 'other' needs the name of a model: set [model] name, or MODEL_NAME",)


def test_another_url_must_be_given() -> None:
    with pytest.raises(ValueError, match="provider 'other' needs a base_url"):
        ModelSettings(provider="other", name="m")


def test_an_endpoint_does_not_show_its_key() -> None:
    assert "very-secret" not in repr(certainly({"groq": "very-secret"}))


def with_keys(**model: Any) -> Settings:
    keys = KeySettings(groq="g", openai="o", openrouter="r")  # type: ignore[arg-type]
    return Settings(model=ModelSettings(**model), keys=keys)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("groq", "groq/openai/gpt-oss-120b"),
        ("groq/openai/gpt-oss-20b", "groq/openai/gpt-oss-20b"),
        ("openai/gpt-oss-20b", "openai/gpt-oss-20b"),
        ("openrouter/auto", "openrouter/openrouter/auto"),
        ("openrouter/openrouter/auto", "openrouter/openrouter/auto"),
        ("gpt-6-luna", "openai/gpt-6-luna"),
        ("gguf//models/a.gguf", "gguf//models/a.gguf"),
        ("ollama/any/thing:7b", "ollama/any/thing:7b"),
    ],
)
def test_a_model_is_named_by_provider_and_name_or_by_either(name: str, title: str) -> None:
    assert endpoint_named(with_keys(), name).title == title


def test_a_model_that_two_providers_have_is_to_be_named_with_one() -> None:
    assert "openai/gpt-oss-120b" in providers()["groq"].models
    with pytest.raises(SettingsError, match="is no model that GOAT knows"):
        endpoint_named(with_keys(), "gpt-oss-120b")


def test_fallbacks_keep_their_order_and_use_their_own_addresses_and_keys() -> None:
    settings = with_keys(provider="openai", base_url="http://proxy/v1", fallbacks=["groq", "openai/gpt-6-luna"])
    first, second = fallbacks_of(settings)
    assert (first.title, first.key.get_secret_value()) == ("groq/openai/gpt-oss-120b", "g")
    assert first.base_url == providers()["groq"].base_url
    assert (second.base_url, second.key.get_secret_value()) == ("http://proxy/v1", "o")


def test_every_fault_of_the_fallbacks_is_named_at_once() -> None:
    with pytest.raises(SettingsError) as refused:
        fallbacks_of(with_keys(fallbacks=["deepseek", "gguf", "nonsense"]))
    assert len(refused.value.faults) == 3


def test_a_price_counts_fresh_and_cached_input_and_output() -> None:
    assert Price(2.0, 10.0, 0.5).cost(Usage(1_000_000, 100_000, 400_000)) == pytest.approx(1.2 + 0.2 + 1.0)
    assert Price(2.0, 10.0).cost(Usage(1_000_000, 0, 400_000)) == pytest.approx(2.0)


def test_the_facts_of_the_table_are_plausible_and_name_models_of_it() -> None:
    for row in providers().values():
        assert set(row.facts) <= set(row.models), row.id
        for known in row.facts.values():
            assert known.context_tokens is None or known.context_tokens > 8000
            if known.price is not None:
                assert 0 < known.price.input <= known.price.output
                assert known.price.cached is None or known.price.cached < known.price.input


def test_what_runs_on_this_machine_is_free_and_a_model_outside_the_table_has_no_price() -> None:
    assert certainly(provider="ollama", name="some:7b").facts.price == Price(0.0, 0.0, 0.0)
    assert certainly({"groq": "k"}, provider="groq", name="new").facts.price is None


def test_prices_and_context_of_the_settings_come_before_those_of_the_table() -> None:
    own = certainly({"openai": "k"}, provider="openai", input_price=7.0, context_tokens=9000).facts
    assert own.price == Price(7.0, 1.20, 0.02)
    assert own.context_tokens == 9000
    assert certainly({"groq": "k"}, provider="groq", name="new", input_price=1.0).facts.price is None


def test_a_small_context_makes_the_budget_smaller_and_a_large_or_unknown_one_leaves_it() -> None:
    small = fitted(Settings(model=ModelSettings(provider="ollama", context_tokens=4096, max_tokens=1024)))
    assert small.aits.budget_hard_cap == 4096 - 1024 - 512
    assert small.aits.budget_base <= small.aits.budget_hard_cap
    for unchanged in (with_keys(provider="groq"), Settings(), Settings(model=ModelSettings(provider="ollama"))):
        assert fitted(unchanged) is unchanged
