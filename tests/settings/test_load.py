from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import goat.settings
from goat.errors import SettingsError
from goat.settings import Loaded, load
from goat.settings.catalogue import Key, catalogue


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


def read(home: Path, environ: Mapping[str, str] | None = None, cwd: Path | None = None, **arguments: object) -> Loaded:
    dotted = {name.replace("__", "."): value for name, value in arguments.items()}
    return load({"home": home, **dotted}, environ=environ or {}, cwd=cwd or home)


def faults(home: Path, environ: Mapping[str, str] | None = None, **arguments: object) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as refused:
        read(home, environ, **arguments)
    return refused.value.faults


def notices(loaded: Loaded) -> str:
    return "\n".join(notice.text for notice in loaded.notices)


def test_an_empty_home_gives_the_defaults(home: Path) -> None:
    loaded = read(home)
    assert loaded.settings == goat.settings.Settings()
    assert loaded.home == home
    assert not loaded.notices
    assert not loaded.sources


def test_arguments_outrank_environment_outranks_env_file_outranks_toml_outranks_defaults(home: Path) -> None:
    environ: dict[str, str] = {}
    assert read(home).settings.model.name == ""
    (home / "goat2.toml").write_text('[model]\nname = "toml"\n')
    assert read(home).settings.model.name == "toml"
    (home / ".env").write_text("MODEL_NAME=dotenv\n")
    assert read(home).settings.model.name == "dotenv"
    environ["GOAT_MODEL__NAME"] = "environment"
    assert read(home, environ).settings.model.name == "environment"
    assert read(home, environ, model__name="argument").settings.model.name == "argument"


def test_sources_say_where_each_setting_came_from(home: Path) -> None:
    (home / "goat2.toml").write_text("[aits]\nbudget_base = 2500\n")
    (home / ".env").write_text("GROQ_API_KEY=gsk\n")
    loaded = read(home, {"TEMPERATURE": "0.1"}, profile="sources")
    assert loaded.sources == {
        "aits.budget_base": str(home / "goat2.toml"),
        "keys.groq": f"GROQ_API_KEY in {home / '.env'}",
        "model.temperature": "TEMPERATURE in the environment",
        "profile": "the command line",
    }


def test_a_section_is_merged_key_by_key(home: Path) -> None:
    (home / "goat2.toml").write_text("[aits]\nbudget_base = 2500\nbudget_hard_cap = 9000\n")
    aits = read(home, {"GOAT_AITS__BUDGET_BASE": "3000"}).settings.aits
    assert (aits.budget_base, aits.budget_hard_cap, aits.confidence_multiplier) == (3000, 9000, 4000)


VALID_TEXT = {
    "profile": "sources",
    "aits.budget_base": "1500",
    "aits.budget_hard_cap": "15000",
    "retrieval_budget.l3_gap_significance": "2",
    "prefetch.score_similarity_weight": "0.60",
    "prefetch.score_recency_weight": "0.30",
    "prefetch.score_access_weight": "0.10",
    "prefetch.merge": "published",
    "recall.reflex": "never",
    "entity_boost.extractor": "none",
    "model.provider": "groq",
    "model.base_url": "http://host/v1",
    "turn.zone": "UTC",
    "telegram.during_turn": "queue",
    "telegram.silence_seconds": "120",
    "telegram.webhook_url": "https://host/hook",
    "logs.level": "ERROR",
}


@pytest.mark.parametrize("key", [key for key in catalogue().values() if not key.secret], ids=lambda key: key.path)
def test_every_setting_can_be_given_by_its_general_environment_name(home: Path, key: Key) -> None:
    general = f"GOAT_{key.section}__{key.name}" if key.section else f"GOAT_{key.name}"
    loaded = read(home, {general.upper(): VALID_TEXT.get(key.path, "1")})
    assert loaded.sources == {key.path: f"{general.upper()} in the environment"}
    assert not loaded.notices


@pytest.mark.parametrize("provider", ["DEEPSEEK", "OPENAI", "ANTHROPIC", "GROQ", "OPENROUTER", "GEMINI"])
def test_a80_a_key_is_found_under_its_own_name_and_under_its_goat_name(home: Path, provider: str) -> None:
    for name in (f"{provider}_API_KEY", f"GOAT_{provider}_API_KEY"):
        loaded = read(home, {name: "k1"})
        assert getattr(loaded.settings.keys, provider.lower()).get_secret_value() == "k1"
        assert not loaded.notices


@pytest.mark.parametrize("name", ["TELEGRAM_BOT_TOKEN", "TELEGRAM_TOKEN", "GOAT_TELEGRAM_BOT_TOKEN"])
def test_a80_the_telegram_token_is_found_under_each_of_its_names(home: Path, name: str) -> None:
    assert read(home, {name: "1:a"}).settings.keys.telegram.get_secret_value() == "1:a"


def test_when_a_name_and_its_alias_are_set_the_first_wins_and_a_notice_says_so(home: Path) -> None:
    loaded = read(home, {"GOAT_GROQ_API_KEY": "second", "GROQ_API_KEY": "first"})
    assert loaded.settings.keys.groq.get_secret_value() == "first"
    assert "GROQ_API_KEY and GOAT_GROQ_API_KEY are both set in the environment; GROQ_API_KEY counts." in notices(loaded)


def test_an_alias_in_the_environment_outranks_the_name_in_the_env_file(home: Path) -> None:
    (home / ".env").write_text("GROQ_API_KEY=file\n")
    assert read(home, {"GOAT_GROQ_API_KEY": "env"}).settings.keys.groq.get_secret_value() == "env"


def test_o46_a_token_in_the_environment_outranks_the_one_in_a_file(home: Path) -> None:
    (home / ".env").write_text("TELEGRAM_BOT_TOKEN=file\n")
    assert read(home).settings.keys.telegram.get_secret_value() == "file"
    loaded = read(home, {"TELEGRAM_BOT_TOKEN": "environment"})
    assert loaded.settings.keys.telegram.get_secret_value() == "environment"


def test_an_empty_variable_counts_as_not_set(home: Path) -> None:
    (home / ".env").write_text("GROQ_API_KEY=file\n")
    loaded = read(home, {"GROQ_API_KEY": "", "GOAT_AITS__BUDGET_BASE": ""})
    assert loaded.settings.keys.groq.get_secret_value() == "file"
    assert loaded.settings.aits.budget_base == 2000


def test_all_faults_of_all_sources_are_reported_at_once(home: Path) -> None:
    (home / "goat2.toml").write_text(
        'budget_base = 1\n[aits]\nbudgt_base = 1\nbudget_base = "2000"\n[model]\nprovider = "deepsek"\n'
        "temperature = true\n[prefetch]\nscore_access_weight = 0.2\n[activatoin]\nttl_seconds = 1\n"
    )
    (home / ".env").write_text("OPENAI_API_KEY='a b'\n")
    with pytest.raises(SettingsError) as refused:
        read(home, {"MAX_TOKENS": "many", "GOAT_AITS__BUDGET_HARD_CAP": "0"}, turn__zone="Nowhere/At_all")
    assert refused.value.source == f"{home / 'goat2.toml'} and {home / '.env'} and the environment and the command line"
    assert sorted(refused.value.faults) == sorted(
        [
            "budget_base: unknown here; it belongs into [aits] budget_base",
            "[aits] budgt_base: unknown; did you mean 'budget_base'?",
            "activatoin: unknown; did you mean 'activation'?",
            "OPENAI_API_KEY ([keys] openai): holds spaces or characters that no key has; copy it again",
            "MAX_TOKENS ([model] max_tokens): must be a valid integer, not 'many'",
            "GOAT_AITS__BUDGET_HARD_CAP ([aits] budget_hard_cap): must be greater than 0, not '0'",
            "[turn] zone: 'Nowhere/At_all' must be an IANA time zone such as Europe/Bucharest, or empty",
            "[aits] budget_base: must be a valid integer, not '2000'",
            "[prefetch] score_similarity_weight, score_recency_weight and score_access_weight must add up to 1, "
            "not 1.1",
            "[model] provider: 'deepsek' must be one of deepseek, openai, anthropic, groq, ollama, gguf, openrouter, "
            "gemini, other, offline; did you mean 'deepseek'?",
            "[model] temperature: must be a valid number, not True",
        ]
    )


def test_a_contradiction_between_two_sources_is_found(home: Path) -> None:
    (home / "goat2.toml").write_text("[activation]\ndrift_cold = 0.7\n")
    assert faults(home, {"GOAT_ACTIVATION__DRIFT_WARM": "0.6"}) == (
        "[activation] drift_warm (0.6) must be greater than drift_cold (0.7)",
    )


def test_a_section_that_is_no_table_is_named(home: Path) -> None:
    (home / "goat2.toml").write_text("aits = 3\n")
    assert faults(home) == ("aits: must be a table, written [aits]",)


def test_an_unknown_argument_is_a_fault(home: Path) -> None:
    assert faults(home, modle__name="x") == ("modle.name: unknown; did you mean 'model.name'?",)


def test_a_secret_in_the_toml_file_is_refused_and_not_shown(home: Path) -> None:
    (home / "goat2.toml").write_text('[keys]\ndeepseek = "sk-secret"\n')
    assert faults(home) == ("[keys] deepseek: a secret does not belong here; put DEEPSEEK_API_KEY into .env",)


def test_a_secret_that_cannot_be_used_is_not_shown(home: Path) -> None:
    assert "sk-sec" not in "".join(faults(home, {"DEEPSEEK_API_KEY": "sk-sec ret"}))


def test_an_unknown_goat_name_is_reported_and_passed_over(home: Path) -> None:
    loaded = read(home, {"GOAT_AITS__BUDGET_BAS": "1", "SOMETHING_ELSE": "1", "GOAT_HOME": str(home)})
    assert [notice.text for notice in loaded.notices] == [
        "GOAT_AITS__BUDGET_BAS in the environment is not a name that GOAT reads; did you mean 'GOAT_AITS__BUDGET_BASE'?"
    ]


def test_a_reserved_name_is_reported_as_read_by_nothing(home: Path) -> None:
    loaded = read(home, {"GOAT_AGENT_CODER_MODEL": "m", "GOAT_AGENT_TOOL_CALLER_MAX_TOOL_ROUNDS": "1"})
    assert [notice.text for notice in loaded.notices] == [
        "GOAT_AGENT_CODER_MODEL in the environment is reserved, but nothing reads it yet.",
        "GOAT_AGENT_TOOL_CALLER_MAX_TOOL_ROUNDS in the environment is reserved, but nothing reads it yet.",
    ]


def test_unknown_names_in_the_env_file_are_reported_and_never_applied(home: Path) -> None:
    (home / ".env").write_text("PATH=/evil\nHTTPS_PROXY=http://evil\nGROQ_API_KEY=ok\n")
    before = dict(os.environ)
    loaded = read(home)
    assert dict(os.environ) == before
    assert loaded.settings.keys.groq.get_secret_value() == "ok"
    assert f"PATH in {home / '.env'} is not a name that GOAT reads" in notices(loaded)
    assert f"HTTPS_PROXY in {home / '.env'} is not a name that GOAT reads" in notices(loaded)


def test_the_data_folder_cannot_be_moved_from_within(home: Path) -> None:
    (home / ".env").write_text("GOAT_HOME=/elsewhere\n")
    loaded = read(home)
    assert loaded.home == home
    assert notices(loaded) == f"GOAT_HOME in {home / '.env'} has no effect; it counts in the environment only."


def test_a_line_that_is_no_assignment_is_reported_with_its_number(home: Path) -> None:
    (home / ".env").write_text("GROQ_API_KEY=ok\n=broken\n")
    loaded = read(home)
    assert notices(loaded) == f"Line 2 of {home / '.env'} is not NAME=value and was passed over."


def test_the_env_file_does_not_expand_names(home: Path) -> None:
    (home / ".env").write_text('GROQ_API_KEY="${HOME}$x"\n')
    assert read(home, {"HOME": "/h"}).settings.keys.groq.get_secret_value() == "${HOME}$x"


def test_files_of_a_foreign_working_directory_do_not_count(home: Path, elsewhere: Path) -> None:
    (elsewhere / "goat2.toml").write_text('[model]\nbase_url = "http://evil/v1"\n')
    (elsewhere / ".env").write_text("BASE_URL=http://evil/v1\n")
    (elsewhere / "pyproject.toml").write_text('[project]\nname = "another"\n')
    loaded = read(home, cwd=elsewhere)
    assert loaded.settings.model.base_url == ""
    assert loaded.files.toml == home / "goat2.toml"


def test_files_of_the_checkout_come_first_and_those_passed_over_are_named(home: Path, elsewhere: Path) -> None:
    (elsewhere / "pyproject.toml").write_text('[project]\nname = "goat2"\n')
    (elsewhere / "goat2.toml").write_text('admin = "checkout"\n')
    (home / "goat2.toml").write_text('admin = "home"\n')
    (home / ".env").write_text("GROQ_API_KEY=home\n")
    loaded = read(home, cwd=elsewhere)
    assert loaded.settings.admin == "checkout"
    assert loaded.settings.keys.groq.get_secret_value() == "home"
    assert notices(loaded) == (f"{home / 'goat2.toml'} is not read, because {elsewhere / 'goat2.toml'} comes first.")


def test_a_named_config_file_is_read_with_the_env_file_beside_it(home: Path, elsewhere: Path) -> None:
    (home / "goat2.toml").write_text('admin = "home"\n')
    (elsewhere / "my.toml").write_text('admin = "mine"\n')
    (elsewhere / ".env").write_text("GROQ_API_KEY=mine\n")
    loaded = load({"home": home}, environ={}, cwd=elsewhere, config=Path("my.toml"))
    assert (loaded.settings.admin, loaded.settings.keys.groq.get_secret_value()) == ("mine", "mine")


def test_a_named_config_file_that_is_missing_is_an_error(home: Path) -> None:
    with pytest.raises(SettingsError, match=r"gone\.toml.*\n.*does not exist; check the path given with --config"):
        load({"home": home}, environ={}, cwd=home, config=Path("gone.toml"))


def test_a_broken_file_is_named_with_its_line_and_the_way_out(home: Path) -> None:
    (home / "goat2.toml").write_text('admin = "x"\n[aits\n')
    with pytest.raises(SettingsError, match="at line 2") as refused:
        read(home)
    assert refused.value.source == str(home / "goat2.toml")
    assert "correct it there, or run `goat setup --reconfigure`" in str(refused.value)
    assert "backup" not in str(refused.value)


def test_the_backup_of_a_broken_file_is_offered(home: Path) -> None:
    (home / "goat2.toml").write_text("=")
    (home / "goat2.toml.backup").write_text("")
    with pytest.raises(SettingsError) as refused:
        read(home)
    assert f"cp '{home / 'goat2.toml.backup'}' '{home / 'goat2.toml'}'" in str(refused.value)


def test_a_broken_file_can_be_skipped_for_setup(home: Path) -> None:
    (home / "goat2.toml").write_text("=")
    (home / ".env").write_text("GROQ_API_KEY=kept\n")
    loaded = load({"home": home}, environ={}, cwd=home, skip_toml=True)
    assert loaded.settings.keys.groq.get_secret_value() == "kept"


def test_a_file_that_is_not_utf8_is_an_error(home: Path) -> None:
    (home / "goat2.toml").write_bytes(b'admin = "\xff"\n')
    with pytest.raises(SettingsError, match="save it as UTF-8"):
        read(home)


def test_a_byte_order_mark_is_no_obstacle(home: Path) -> None:
    (home / "goat2.toml").write_text('admin = "Ana"\n', encoding="utf-8-sig")
    (home / ".env").write_text("GROQ_API_KEY=k\n", encoding="utf-8-sig")
    loaded = read(home)
    assert (loaded.settings.admin, loaded.settings.keys.groq.get_secret_value()) == ("Ana", "k")


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"GOAT_HOME": "{tmp}/data", "HOME": "{tmp}/me"}, "{tmp}/data"),
        ({"GOAT_HOME": "~/data", "HOME": "{tmp}/me"}, "{tmp}/me/data"),
        ({"GOAT_HOME": "data", "HOME": "{tmp}/me"}, "{tmp}/data"),
        ({"HOME": "{tmp}/me"}, "{tmp}/me/.goat"),
        ({"USERPROFILE": "{tmp}/me"}, "{tmp}/me/.goat"),
    ],
)
def test_the_data_folder_follows_the_environment(tmp_path: Path, environ: dict[str, str], expected: str) -> None:
    filled = {name: value.replace("{tmp}", str(tmp_path)) for name, value in environ.items()}
    assert load(environ=filled, cwd=tmp_path).home == Path(expected.replace("{tmp}", str(tmp_path)))


def test_o28_settings_are_read_anew_with_every_load(home: Path) -> None:
    (home / "goat2.toml").write_text("[aits]\nbudget_base = 2100\n")
    assert read(home).settings.aits.budget_base == 2100
    (home / "goat2.toml").write_text("[aits]\nbudget_base = 2200\n")
    assert read(home).settings.aits.budget_base == 2200


def test_o28_nothing_reads_the_environment_or_a_file_at_import(home: Path) -> None:
    (home / "goat2.toml").write_text("=")
    environ = {**os.environ, "GOAT_HOME": str(home), "HOME": str(home), "GOAT_AITS__BUDGET_BASE": "garbage"}
    done = subprocess.run(
        [sys.executable, "-c", "import goat.settings, goat.setup"],
        env=environ,
        cwd=home,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_o28_the_package_names_no_process_environment() -> None:
    for module in Path(goat.settings.__file__).parent.glob("*.py"):
        names = {
            node.attr for node in ast.walk(ast.parse(module.read_text("utf-8"))) if isinstance(node, ast.Attribute)
        }
        assert not names & {"environ", "getenv"}, module.name


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(name=st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1))
def test_any_text_survives_the_environment_as_it_is(home: Path, name: str) -> None:
    assert read(home, {"MODEL_NAME": name}).settings.model.name == name
