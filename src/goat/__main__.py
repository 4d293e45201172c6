"""`python -m goat` and the `goat` command."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    # More BLAS threads than one cost more than they bring on vectors this short; numpy reads it when it is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from goat.cli.main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
