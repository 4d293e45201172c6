"""What the tests of the tools share."""

from __future__ import annotations

from pathlib import Path

import pytest

from goat.testing.tools import LoopBench


@pytest.fixture
def bench(tmp_path: Path) -> LoopBench:
    return LoopBench(tmp_path)
