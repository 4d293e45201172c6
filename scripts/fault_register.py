"""The register of known faults: which test, later work or reason answers each of them.

usage: fault_register.py [--fill]

Prints how the register stands. With `--fill` every test that is named after an id (`test_a27_…`, `test_f_b41_…`,
`test_memory_19_…`, `test_telegram_h10_…`) is entered under that id, in place of what stood there.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
REGISTER = ROOT / "tests" / "register.toml"
CATALOGUES = ROOT / "tests" / "register_ids.toml"

Register = dict[str, dict[str, Any]]


def expand(span: str) -> list[str]:
    """The ids of a span: `A01-A97` counts up in the width that it is written in, `F-B07` is one id."""
    match = re.fullmatch(r"(?P<letters>[A-Z-]*?)(?P<first>\d+)(?:-(?P=letters)(?P<last>\d+))?", span)
    if match is None:
        raise ValueError(f"{span!r} is no span of ids; write A01-A97 or A01")
    first, last = match["first"], match["last"] or match["first"]
    return [f"{match['letters']}{number:0{len(first)}}" for number in range(int(first), int(last) + 1)]


def known_ids(text: str) -> list[str]:
    """Every id of the catalogues, as `catalogue:id`."""
    spans: dict[str, list[str]] = tomllib.loads(text)["ids"]
    return [f"{catalogue}:{one}" for catalogue, listed in spans.items() for span in listed for one in expand(span)]


def planned_work(text: str) -> list[str]:
    """The titles that an entry may name as later work."""
    titles: list[str] = tomllib.loads(text)["later"]
    return titles


def faults_of(register: Register, ids: list[str], titles: list[str], tests: set[str]) -> list[str]:
    """What is wrong with a register, one sentence each."""
    found = [f"{one}: missing" for one in ids if one not in register]
    for one, entry in register.items():
        if one not in ids:
            found.append(f"{one}: no such id")
        match entry:
            case {"test": [_, *_] as nodes, **rest} if not rest:
                found += [f"{one}: there is no test {node}" for node in nodes if node not in tests]
            case {"issue": str(title), **rest} if not rest:
                found += [] if title in titles else [f"{one}: no work is planned under {title!r}"]
            case {"why_not": str(reason), **rest} if not rest:
                found += [] if len(reason.split()) > 3 and reason.endswith(".") else [f"{one}: that is no sentence"]
            case _:
                found.append(f"{one}: needs one of test = [node ids], issue = title, why_not = sentence")
    return found


def defined_tests(root: Path) -> Iterator[str]:
    """The node ids of the tests under `root`/tests, without parameters."""
    for file in sorted((root / "tests").rglob("test_*.py")):
        name = file.relative_to(root).as_posix()
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
                yield from (f"{name}::{node.name}::{inner}" for inner in test_functions(node))
        yield from (f"{name}::{function}" for function in test_functions(ast.parse(file.read_text("utf-8"))))


def test_functions(scope: ast.Module | ast.ClassDef) -> Iterator[str]:
    """The names of the test functions directly in a scope."""
    for node in scope.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name


def named_after(node: str) -> str | None:
    """The id that a test carries in its name, None when it carries none."""
    name = node.rpartition("::")[2]
    if match := re.match(r"test_memory_(\d+)_", name):
        return f"memory:{match[1]}"
    if match := re.match(r"test_telegram_([a-j]\d+)_", name):
        return f"telegram:{match[1].upper()}"
    if match := re.match(r"test_(f_b|a|o)(\d\d)_", name):
        return f"faults:{match[1].upper().replace('_', '-')}{match[2]}"
    return None


def by_id(tests: set[str]) -> dict[str, list[str]]:
    """The tests that are named after an id."""
    found: dict[str, list[str]] = {}
    for node in sorted(tests):
        if one := named_after(node):
            found.setdefault(one, []).append(node)
    return found


def written(register: Register, ids: list[str]) -> str:
    """The register as text, in the order of the catalogues."""
    lines = [
        "# Which test, later work or reason answers each known fault. Its ids stand in register_ids.toml.",
        "# `scripts/fault_register.py --fill` enters the tests that are named after an id.",
    ]
    previous = ""
    for one in [*ids, *(extra for extra in register if extra not in ids)]:
        if one not in register:
            continue
        group = re.sub(r"\d+$", "", one)
        lines += [""] if group != previous else []
        previous = group
        [(kind, value)] = register[one].items()
        lines.append(f'"{one}" = {{ {kind} = {json.dumps(value, ensure_ascii=False)} }}')
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Fill on request, print the standing and the faults; 1 when there are any."""
    catalogues = CATALOGUES.read_text("utf-8")
    ids, register = known_ids(catalogues), tomllib.loads(REGISTER.read_text("utf-8"))
    tests = set(defined_tests(ROOT))
    if arguments == ["--fill"]:
        kept = {
            one: nodes for one, entry in register.items() if (nodes := [n for n in entry.get("test", []) if n in tests])
        }
        for one, nodes in by_id(tests).items():
            register[one] = {"test": sorted({*nodes, *kept.get(one, [])})}
        REGISTER.write_text(written(register, ids), "utf-8")
    for kind, count in sorted(Counter(kind for entry in register.values() for kind in entry).items()):
        print(f"{kind}: {count}")
    found = faults_of(register, ids, planned_work(catalogues), tests)
    print("\n".join(found) if found else f"{len(ids)} ids, all answered")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
