"""Named places where a test can end the process, to prove that nothing is lost there.

`GOAT_FAILPOINT` holds `name` or `name:N`: the process kills itself with SIGKILL at the N-th arrival (default 1). Unset,
`reach` does nothing.
"""

from __future__ import annotations

import os
import signal
from collections import Counter

_arrivals: Counter[str] = Counter()


def reach(name: str) -> None:
    """Die here when the environment asks for it."""
    wanted = os.environ.get("GOAT_FAILPOINT")
    if not wanted:
        return
    point, _, nth = wanted.partition(":")
    if point != name:
        return
    _arrivals[name] += 1
    if _arrivals[name] >= int(nth or 1):
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
