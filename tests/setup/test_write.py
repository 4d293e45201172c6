from __future__ import annotations

import stat
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from goat.errors import HomeError, SettingsError
from goat.settings import Files, Loaded, load, providers
from goat.setup import Answers, answers_of, outranked, write_answers

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps access in lists, not in modes")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "new" / "home"


def files(home: Path) -> Files:
    return Files(home / "goat2.toml", home / ".env")


def read(home: Path, environ: dict[str, str] | None = None) -> Loaded:
    return load({"home": home}, environ=environ or {}, cwd=home)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
keys = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=40)
keyed = [row.id for row in providers().values() if row.env_key and row.id != "other"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(provider=st.sampled_from(keyed), model=names, path=st.sampled_from(["", "http://h:1/v1?a='\"#x"]), key=keys)
def test_f_b17_what_setup_writes_is_what_the_settings_read(
    home: Path, provider: str, model: str, path: str, key: str
) -> None:
    (home / ".env").unlink(missing_ok=True)
    answers = Answers(provider, model, path, SecretStr(key))
    write_answers(answers, files(home))
    loaded = read(home)
    assert answers_of(loaded.settings) == answers
    assert not loaded.notices


@pytest.mark.parametrize(
    "model", ['a"b', "a'b", "a\\b", 'say "hi" #1', "ümlaut 猫 🐐", "a\nb\t", "  spaces  ", '"""', "'''"]
)
def test_f_b74_a_quote_in_a_value_does_not_break_the_file(home: Path, model: str) -> None:
    write_answers(Answers("ollama", model), files(home))
    assert tomllib.loads((home / "goat2.toml").read_text(encoding="utf-8"))["model"]["name"] == model
    assert read(home).settings.model.name == model


@pytest.mark.parametrize("key", ["plain-1.2", "it's", 'a"b', "a\\b\\", "#hash", "$HOME${HOME}", "a=b=c", "'", "\\'"])
def test_f_b74_any_key_survives_the_env_file(home: Path, key: str) -> None:
    write_answers(Answers("groq", "m", "", SecretStr(key)), files(home))
    assert read(home, {"HOME": "/h"}).settings.keys.groq.get_secret_value() == key


def test_nothing_chosen_and_staying_offline_are_kept_apart(home: Path) -> None:
    write_answers(Answers(), files(home))
    assert answers_of(read(home).settings) == Answers()
    assert not (home / ".env").exists()
    write_answers(Answers("offline"), files(home))
    assert answers_of(read(home).settings) == Answers("offline")


def test_other_settings_stay(home: Path) -> None:
    home.mkdir(parents=True)
    (home / "goat2.toml").write_text(
        'admin = "Ana"\n[aits]\nbudget_base = 2500\n[model]\nprovider = "other"\nbase_url = "http://old/v1"\n'
        'name = "old"\ntemperature = 0.1\n'
    )
    write_answers(Answers("groq", "new", "", SecretStr("k")), files(home))
    assert tomllib.loads((home / "goat2.toml").read_text()) == {
        "admin": "Ana",
        "aits": {"budget_base": 2500},
        "model": {"provider": "groq", "name": "new", "temperature": 0.1},
    }


def test_other_lines_of_the_env_file_stay_as_they_are(home: Path) -> None:
    home.mkdir(parents=True)
    before = "# my keys\n\nTELEGRAM_BOT_TOKEN='1:a' # bot\nexport GROQ_API_KEY=old\nGEMINI_API_KEY=g"
    (home / ".env").write_text(before)
    write_answers(Answers("groq", "m", "", SecretStr("new")), files(home))
    assert (home / ".env").read_text() == (
        "# my keys\n\nTELEGRAM_BOT_TOKEN='1:a' # bot\nGEMINI_API_KEY=g\nGROQ_API_KEY=new\n"
    )


def test_f_b17_names_in_the_env_file_that_would_outrank_the_answers_leave_it(home: Path) -> None:
    home.mkdir(parents=True)
    (home / ".env").write_text(
        "MODEL_NAME=old\nGOAT_BASE_URL=http://old/v1\nGOAT_GROQ_API_KEY=alias\nTEMPERATURE=0.2\n"
    )
    write_answers(Answers("groq", "new", "", SecretStr("k")), files(home))
    loaded = read(home)
    assert answers_of(loaded.settings) == Answers("groq", "new", "", SecretStr("k"))
    assert loaded.settings.model.temperature == 0.2
    assert not loaded.notices


def test_an_empty_key_leaves_the_one_that_is_there(home: Path) -> None:
    write_answers(Answers("groq", "m", "", SecretStr("k")), files(home))
    write_answers(Answers("groq", "n"), files(home))
    assert read(home).settings.keys.groq.get_secret_value() == "k"


def test_starting_offline_does_not_touch_the_env_file(home: Path) -> None:
    home.mkdir(parents=True)
    (home / ".env").write_text("MODEL_NAME=mine\n")
    write_answers(Answers(), files(home))
    assert (home / ".env").read_text() == "MODEL_NAME=mine\n"


def test_the_old_files_are_kept_beside_the_new_ones(home: Path) -> None:
    write_answers(Answers("groq", "one", "", SecretStr("k1")), files(home))
    first = {name: (home / name).read_bytes() for name in ("goat2.toml", ".env")}
    kept = write_answers(Answers("groq", "two", "", SecretStr("k2")), files(home))
    assert sorted(kept) == [home / ".env.backup", home / "goat2.toml.backup"]
    assert {name: (home / f"{name}.backup").read_bytes() for name in first} == first


def test_writing_the_same_again_changes_nothing(home: Path) -> None:
    answers = Answers("groq", "one", "", SecretStr("k1"))
    write_answers(answers, files(home))
    assert write_answers(answers, files(home)) == []
    assert sorted(path.name for path in home.iterdir()) == [".env", "goat2.toml"]


@posix
def test_files_backups_and_the_folder_are_the_owners_only(home: Path) -> None:
    home.mkdir(parents=True)
    for name in ("goat2.toml", ".env"):
        (home / name).write_text("")
        (home / name).chmod(0o644)
    (home / ".env").write_text("GROQ_API_KEY=old\n")
    (home / "goat2.toml").write_text('admin = "Ana"\n')
    write_answers(Answers("groq", "two", "", SecretStr("k2")), files(home))
    assert sorted((path.name, mode(path)) for path in home.iterdir()) == [
        (".env", 0o600),
        (".env.backup", 0o600),
        ("goat2.toml", 0o600),
        ("goat2.toml.backup", 0o600),
    ]


@posix
def test_a_new_home_is_the_owners_only(home: Path) -> None:
    write_answers(Answers(), files(home))
    assert mode(home) == 0o700


@posix
def test_a_link_stays_a_link(home: Path, tmp_path: Path) -> None:
    home.mkdir(parents=True)
    (tmp_path / "dotfiles.toml").write_text("")
    (home / "goat2.toml").symlink_to(tmp_path / "dotfiles.toml")
    write_answers(Answers("ollama", "m"), files(home))
    assert (home / "goat2.toml").is_symlink()
    assert 'name = "m"' in (tmp_path / "dotfiles.toml").read_text()


@pytest.mark.parametrize("broken", [b"[model\n", b'admin = "\xff"\n'])
def test_a_broken_file_is_put_aside_and_the_good_backup_stays(home: Path, broken: bytes) -> None:
    home.mkdir(parents=True)
    (home / "goat2.toml").write_bytes(broken)
    (home / "goat2.toml.backup").write_text('admin = "good"\n')
    assert write_answers(Answers("ollama", "m"), files(home)) == [home / "goat2.toml.broken"]
    assert (home / "goat2.toml.broken").read_bytes() == broken
    assert (home / "goat2.toml.backup").read_text() == 'admin = "good"\n'
    assert read(home).settings.model.name == "m"


def test_a_fresh_file_leaves_unusable_settings_behind(home: Path) -> None:
    home.mkdir(parents=True)
    (home / "goat2.toml").write_text("[aits]\nbudget_base = 0\n")
    write_answers(Answers("ollama", "m"), files(home))
    with pytest.raises(SettingsError, match="greater than 0"):
        read(home)
    write_answers(Answers("ollama", "m"), files(home), fresh=True)
    assert read(home).settings.model.name == "m"


def test_a_home_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HomeError, match="setup cannot write its files"):
        write_answers(Answers("ollama", "m"), files(tmp_path / "file"))


def test_f_b17_an_environment_that_outranks_the_answers_is_named(home: Path) -> None:
    environ = {"MODEL_NAME": "mine", "GROQ_API_KEY": "env", "GOAT_MODEL__PROVIDER": "groq"}
    answers = Answers("groq", "chosen", "", SecretStr("new"))
    before = load({"home": home}, environ=environ, cwd=home.parent)
    write_answers(answers, files(home))
    for loaded in (before, read(home, environ)):
        assert outranked(answers, loaded) == [
            "MODEL_NAME in the environment outranks what setup wrote for model.name; "
            "remove it there for the new value to count.",
            "GROQ_API_KEY in the environment outranks what setup wrote for keys.groq; "
            "remove it there for the new value to count.",
        ]


def test_old_answers_in_the_files_outrank_nothing(home: Path) -> None:
    write_answers(Answers("groq", "one", "http://h/v1", SecretStr("k1")), files(home))
    assert outranked(Answers("openai", "two", "", SecretStr("k2")), read(home)) == []
    assert outranked(Answers(), read(home)) == []
