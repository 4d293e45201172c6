"""What every test run gets: a home of its own, and the rule that a registered test is never skipped."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

FOREIGN = ("GOAT_", "TELEGRAM_", "DAG_")
FOREIGN_NAMES = {"MODEL_NAME", "BASE_URL", "TEMPERATURE", "MAX_TOKENS", "TIMEOUT_SECONDS", "REDIS_URL", "LETTA_URL"}


@pytest.fixture(scope="session", autouse=True)
def nobodys_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Hide the settings and keys of the person who runs the tests; the default home is an empty folder."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(FOREIGN) or name in FOREIGN_NAMES or name.endswith("_API_KEY"):
                patch.delenv(name)
        patch.setenv("HOME", str(home))
        patch.setenv("USERPROFILE", str(home))
        patch.setenv("GOAT_HOME", str(home / ".goat"))
        patch.setenv("GOAT_RECALL__DEADLINE_MS", "30000")  # a busy machine is not what a test is about
        yield home


class RegisterGuard:
    """Fails the run when a test that the register names was skipped: a skipped test answers no fault."""

    def __init__(self, register: Path) -> None:
        entries = tomllib.loads(register.read_text("utf-8")).values()
        self.registered = {node for entry in entries for node in entry.get("test", [])}
        self.skipped: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember a skipped or expectedly failed test; parameters belong to their test."""
        node = report.nodeid.partition("[")[0]
        if report.skipped and node in self.registered:
            self.skipped.add(node)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Turn a good run into a failed one."""
        if self.skipped and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name what was skipped."""
        for node in sorted(self.skipped):
            terminalreporter.write_line(f"the register names a skipped test: {node}", red=True)


def pytest_configure(config: pytest.Config) -> None:
    """Guard the register in the process that reports, not in its workers."""
    register = Path(__file__).with_name("register.toml")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(RegisterGuard(register), "register-guard")
