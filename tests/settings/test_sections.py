from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from goat.errors import SettingsError
from goat.settings import Settings
from goat.settings.catalogue import catalogue, sections
from goat.settings.sections import (
    ActivationSettings,
    AitsSettings,
    KeySettings,
    ModelSettings,
    PrefetchSettings,
    RecallSettings,
    RetrievalBudgetSettings,
    Section,
    TurnSettings,
    WorkingSettings,
)

CALIBRATED = {
    "drift_warm": 0.8,
    "drift_cold": 0.55,
    "enriching_sim": 0.55,
    "lexical_low": 0.15,
    "topic_return_threshold": 0.75,
}

PUBLISHED: dict[str, Any] = {
    "identity.base_prompt": "You are GOAT, a helpful assistant with layered memory.",
    "permanent.l1_facts_max_tokens": 2000,
    "working.max_messages": 20,
    "aits.budget_base": 2000,
    "aits.confidence_multiplier": 4000,
    "aits.complexity_max_bonus": 2000,
    "aits.budget_hard_cap": 12000,
    "retrieval_budget.l3_min_guarantee_tokens": 1200,
    "retrieval_budget.max_results_per_search": 20,
    "retrieval_budget.l3_gap_significance": 3.0,
    "prefetch.max_results": 20,
    "prefetch.score_similarity_weight": 0.6,
    "prefetch.score_recency_weight": 0.3,
    "prefetch.score_access_weight": 0.1,
    "activation.ttl_seconds": 604800,
    "activation.topic_archive_max": 10,
    "recall.header": "[Context recuperat din istoric]",
}


@pytest.mark.parametrize(("path", "value"), PUBLISHED.items())
def test_the_defaults_are_the_published_ones(path: str, value: object) -> None:
    assert catalogue()[path].field.default == value


def test_every_default_keeps_its_own_limits() -> None:
    for key in catalogue().values():
        assert key.adapter.validate_python(key.field.default) == key.field.default, key.path


def test_every_setting_has_one_sentence() -> None:
    for key in catalogue().values():
        assert key.field.description, key.path
        assert key.field.description.endswith("."), key.path


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().aits.budget_base = 1


def test_a34_a_recency_window_of_zero_is_refused() -> None:
    with pytest.raises(ValidationError, match="greater than 0"):
        PrefetchSettings(recency_window_days=0)


@pytest.mark.parametrize(
    ("section", "key"),
    [
        (PrefetchSettings, "max_results"),
        (PrefetchSettings, "access_count_ref"),
        (RetrievalBudgetSettings, "max_results_per_search"),
        (RetrievalBudgetSettings, "l3_min_guarantee_tokens"),
        (WorkingSettings, "max_messages"),
        (AitsSettings, "budget_base"),
        (ActivationSettings, "topic_archive_max"),
        (RecallSettings, "deadline_ms"),
        (ModelSettings, "max_tokens"),
        (TurnSettings, "timeout_seconds"),
    ],
)
def test_a35_a_count_of_zero_is_refused_instead_of_silently_emptying_a_layer(section: type[Section], key: str) -> None:
    with pytest.raises(ValidationError, match="greater than 0"):
        section(**{key: 0})


@given(base=st.integers(1, 20000), cap=st.integers(1, 20000))
def test_the_cap_is_refused_exactly_when_it_lies_below_the_base(base: int, cap: int) -> None:
    if cap < base:
        with pytest.raises(ValidationError, match=r"budget_hard_cap \(\d+\) must not be smaller than budget_base"):
            AitsSettings(budget_base=base, budget_hard_cap=cap)
    else:
        assert AitsSettings(budget_base=base, budget_hard_cap=cap).budget_hard_cap == cap


def test_weights_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"must add up to 1, not 0\.9"):
        PrefetchSettings(score_access_weight=0.0)
    assert PrefetchSettings(score_similarity_weight=0.7, score_access_weight=0.0).score_access_weight == 0


def test_a_warm_threshold_must_lie_above_the_cold_one() -> None:
    with pytest.raises(ValidationError, match=r"drift_warm \(0\.5\) must be greater than drift_cold \(0\.5\)"):
        ActivationSettings(drift_warm=0.5, drift_cold=0.5)


def test_thresholds_left_out_are_the_calibrated_ones() -> None:
    assert ActivationSettings().thresholds(CALIBRATED, "m") == CALIBRATED
    assert ActivationSettings(drift_warm=0.9, lexical_low=0.0).thresholds(CALIBRATED, "m") == {
        **CALIBRATED,
        "drift_warm": 0.9,
        "lexical_low": 0.0,
    }


def test_one_threshold_alone_is_compared_with_the_calibrated_other() -> None:
    with pytest.raises(SettingsError, match=r"drift_warm \(0\.5\) .* drift_cold \(0\.55\).* calibration of e5"):
        ActivationSettings(drift_warm=0.5).thresholds(CALIBRATED, "e5")
    with pytest.raises(SettingsError, match=r"drift_cold \(0\.85\)"):
        ActivationSettings(drift_cold=0.85).thresholds(CALIBRATED, "e5")


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host/v1", "http://", "http://a b/v1", "http://[::1/v1"])
def test_an_address_that_is_no_http_url_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="must be a URL"):
        ModelSettings(base_url=url)


@pytest.mark.parametrize("zone", ["Mars/Base", "../../etc/passwd", "/etc/localtime", "Europe"])
def test_a_zone_that_does_not_exist_is_refused(zone: str) -> None:
    with pytest.raises(ValidationError, match="IANA time zone"):
        TurnSettings(zone=zone)


def test_a_zone_that_exists_is_taken() -> None:
    assert TurnSettings(zone="Europe/Bucharest").zone == "Europe/Bucharest"


def test_numbers_must_be_finite() -> None:
    with pytest.raises(ValidationError, match="finite"):
        ModelSettings(timeout_seconds=float("inf"))


def test_a_header_of_two_lines_is_refused() -> None:
    with pytest.raises(ValidationError, match="pattern"):
        RecallSettings(header="one\ntwo")


@pytest.mark.parametrize("key", ["sk 123", "sk-ключ", "sk\n123"])
def test_a_key_with_characters_that_no_key_has_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(ValidationError, match="copy it again") as refused:
        KeySettings(openai=key)
    assert key not in str(refused.value)


def test_a_pasted_key_loses_the_space_around_it() -> None:
    assert KeySettings(openai=" sk-123\n").openai.get_secret_value() == "sk-123"


def test_secrets_never_show() -> None:
    settings = Settings(keys=KeySettings(deepseek="sk-very-secret"))
    for text in (repr(settings), str(settings), str(settings.model_dump()), settings.model_dump_json()):
        assert "sk-very-secret" not in text


def test_every_section_is_documented() -> None:
    for name, model in sections().items():
        assert model.__doc__, name
        assert model.__doc__.endswith("."), name
