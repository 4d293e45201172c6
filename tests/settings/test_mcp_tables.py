"""The tables of the MCP servers in `goat2.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from goat.errors import SettingsError
from goat.settings import Loaded, load
from goat.tools.redact import Redactor


def read(home: Path, toml: str, env: str = "", environ: Mapping[str, str] | None = None) -> Loaded:
    (home / "goat2.toml").write_text(toml)
    (home / ".env").write_text(env)
    return load({"home": home}, environ=environ or {}, cwd=home)


def faults(home: Path, toml: str) -> str:
    with pytest.raises(SettingsError) as refused:
        read(home, toml)
    return "\n".join(refused.value.faults)


GITHUB = """
[mcp.github]
command = "npx"
args = ["-y", "server-github", "--root=$HOME/x", "costs $$5"]
env = { GITHUB_TOKEN = "${GITHUB_TOKEN}", LEVEL = "info" }
tools = ["search"]
start_seconds = 5
"""


def test_a_server_is_read_and_its_placeholders_are_filled(tmp_path: Path) -> None:
    loaded = read(tmp_path, GITHUB, "GITHUB_TOKEN=ghp-0123456789\n", {"HOME": "/srv/ana"})
    server = loaded.settings.mcp["github"]
    assert [server.filled(text) for text in server.args] == ["-y", "server-github", "--root=/srv/ana/x", "costs $5"]
    assert server.filled(server.env["GITHUB_TOKEN"]) == "ghp-0123456789"
    assert (server.tools, server.start_seconds, server.permission) == (("search",), 5, "ask_once")
    assert not loaded.notices, "GITHUB_TOKEN in .env is asked for"


def test_telegram_i8_what_stands_in_env_or_has_a_private_name_is_a_secret_and_nothing_else(tmp_path: Path) -> None:
    environ = {"HOME": "/srv/ana", "GITHUB_TOKEN": "ghp-from-outside"}
    toml = GITHUB + '[mcp.web]\nurl = "https://x.example/mcp?key=$WEB"\nheaders = { Authorization = "Bearer $WEB" }\n'
    settings = read(tmp_path, toml, "WEB=web-secret-99\n", environ).settings
    assert set(settings.secrets()) == {"ghp-from-outside", "web-secret-99"}
    for text in (repr(settings), str(settings.model_dump()), settings.model_dump_json()):
        assert "web-secret-99" not in text
        assert "ghp-from-outside" not in text
    redact = Redactor(settings.secrets())
    assert redact("Bearer web-secret-99 in /srv/ana") == "Bearer ••• in /srv/ana"


@pytest.mark.parametrize(
    ("toml", "sentence"),
    [
        ('[mcp.a]\nenv = {GITHUB_TOKEN = "ghp-1"}\ncommand = "x"', 'put it into .env and write "$NAME" in its place'),
        ('[mcp.a]\nurl = "https://x.example"\nheaders = {X-Api-Key = "1"}', "a secret does not belong here"),
        ('[mcp.a]\ncommand = "x"\nargs = ["$NOBODY"]', "[mcp.a]: $NOBODY has no value; put NOBODY=… into .env"),
        ('[mcp.a]\ncomand = "x"', "[mcp.a] comand: unknown; did you mean 'command'?"),
        ('[mcp.a]\nvariables = {}\ncommand = "x"', "[mcp.a] variables: unknown"),
        ('[mcp.a]\ncommand = "x"\nurl = "https://x.example"', "[mcp.a] needs either a command or a url"),
        ("[mcp.a]\n", "[mcp.a] needs either a command or a url"),
        ('[mcp.a]\nurl = "ftp://x.example"', "[mcp.a] url must be an address"),
        ('[mcp.a]\nurl = "https://x.example"\nargs = ["a"]', "args and env belong to a command"),
        ('[mcp.a]\ncommand = "x"\nheaders = {A = "b"}', "headers belong to a url"),
        ('[mcp.a]\ncommand = "x"\nstart_seconds = 0', "[mcp.a] start_seconds: must be greater than 0"),
        ('[mcp.a]\ncommand = "x"\npermission = "yes"', "[mcp.a] permission: must be 'allow'"),
        ('[mcp."Big Name"]\ncommand = "x"', "up to 20 small letters"),
        ("[mcp]\na = 3", "mcp.a: must be a table, written [mcp.a]"),
        ("mcp = 3", "mcp: must hold a table for each server"),
    ],
)
def test_what_is_wrong_is_named_with_the_way_out(tmp_path: Path, toml: str, sentence: str) -> None:
    assert sentence in faults(tmp_path, toml)


def test_a_secret_that_is_refused_is_not_repeated(tmp_path: Path) -> None:
    toml = '[mcp.a]\ncommand = "x"\nenv = {API_KEY = "the-key-itself"}\nstart_seconds = "the-key-itself"\n'
    assert "the-key-itself" not in faults(tmp_path, toml)


def test_a_server_that_is_switched_off_needs_no_values(tmp_path: Path) -> None:
    settings = read(tmp_path, '[mcp.a]\ncommand = "x"\nargs = ["$NOBODY"]\nenabled = false\n').settings
    assert not settings.mcp["a"].enabled


def test_names_that_only_begin_like_private_ones_may_stand_in_the_open(tmp_path: Path) -> None:
    toml = '[mcp.a]\ncommand = "x"\nenv = {KEYCLOAK_URL = "https://id.example", TOKENIZER = "bpe", PATHS = "a:b"}\n'
    assert read(tmp_path, toml).settings.mcp["a"].env["TOKENIZER"] == "bpe"
