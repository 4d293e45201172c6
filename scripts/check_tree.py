"""Look through the files of the project for what must not be in them.

usage: check_tree.py [FOLDER]

No file may name where a package was fetched from (packages are locked by name, version and hash), carry a path of
somebody's machine, or be a thing that a run leaves behind: a database, a log, a file with keys, a huge file.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

THIS = "scripts/check_tree.py"
LARGEST = 1_000_000
LEFT_BEHIND = re.compile(r"(^|/)\.env(\.|$)|(^|/)goat2\.toml$|\.(db|sqlite3?|log|py[cod]|whl|gguf|onnx)(-wal|-shm)?$")
FORBIDDEN = {
    "names a package registry": re.compile(
        r"pypi\s*\.\s*org|pythonhosted|registry\.npmjs|index[-_]url|"
        r'"resolved": *"https?:|registry *= *"https?:|https?://\S+\.(whl|tar\.gz|tgz)'
    ),
    "carries a path of somebody's machine": re.compile(r"/(home|Users)/[a-z]\w*/|/root/|[A-Z]:\\Users\\"),
}


def files(root: Path) -> list[Path]:
    """The files of the project, relative to its root: what git tracks or would track; without git, all not ignored."""
    command = ["git", "-C", str(root), "-c", "safe.directory=*", "ls-files", "-coz", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, check=True).stdout.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):
        ignored = [line.rstrip("/") for line in (root / ".gitignore").read_text("utf-8").split()]
        found = (path.relative_to(root) for path in root.rglob("*"))
        listed = [str(path) for path in found if not any(fnmatch(part, one) for part in path.parts for one in ignored)]
    return sorted({Path(name) for name in listed if name and (root / name).is_file()})


def faults(root: Path, listed: list[Path]) -> Iterator[str]:
    """What is wrong, one line each."""
    here = str(root.resolve())
    for file in listed:
        name = file.as_posix()
        if LEFT_BEHIND.search(name):
            yield f"{name}: is left behind by a run and belongs in .gitignore"
        content = (root / file).read_bytes()
        if len(content) > LARGEST:
            yield f"{name}: is larger than {LARGEST} bytes"
        if name == THIS:
            continue
        for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
            if here in line:
                yield f"{name}:{number}: carries the path of this checkout"
            for what, pattern in FORBIDDEN.items():
                if pattern.search(line):
                    yield f"{name}:{number}: {what}"


def main(arguments: list[str]) -> int:
    """Print the faults of the project, or of the one in the given folder; 1 when there are any."""
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    found = list(faults(root, files(root)))
    print("\n".join(found) if found else "nothing that must not be here")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
