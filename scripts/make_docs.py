"""Write the generated pages of `docs/`; with `--check`, fail when one is stale."""

from __future__ import annotations

import sys
from pathlib import Path

from goat.settings.document import configuration

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = {"configuration.md": configuration}


def main(arguments: list[str]) -> int:
    """Write or check every page; returns the exit status."""
    stale = 0
    for name, make in PAGES.items():
        page, text = DOCS / name, make()
        if page.exists() and page.read_text(encoding="utf-8") == text:
            continue
        if "--check" in arguments:
            print(f"{page} is stale: run python scripts/make_docs.py")
            stale = 1
        else:
            page.parent.mkdir(exist_ok=True)
            page.write_text(text, encoding="utf-8")
            print(f"wrote {page}")
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
