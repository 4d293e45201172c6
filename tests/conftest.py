"""What every test run gets: a home of its own, and the rules on tests that must not be skipped."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "unhurried",
    settings(),
    deadline=None,  # a busy machine is not what a test is about
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),  # there a change is judged; elsewhere each run tries other examples
)
settings.load_profile("unhurried")

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


IMPOSSIBLE = "impossible here: "
"""Begins the reason of a skip that the continuous integration accepts from a test with the mark `service`."""


class RegisterGuard:
    """Fails the run when a test that the register names was skipped: a skipped test answers no fault.

    In the continuous integration a test with the mark `service` must run too, unless the machine makes it impossible.
    """

    def __init__(self, register: Path) -> None:
        entries = tomllib.loads(register.read_text("utf-8")).values()
        self.registered = {node for entry in entries for node in entry.get("test", [])}
        self.everything = bool(os.environ.get("CI"))
        self.skipped: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember a skipped or expectedly failed test; parameters belong to their test."""
        node = report.nodeid.partition("[")[0]
        if report.skipped and node in self.registered:
            self.skipped[node] = "the register names a skipped test"
        elif (
            report.skipped
            and self.everything
            and "service" in report.keywords
            and IMPOSSIBLE not in str(report.longrepr)
        ):
            self.skipped[node] = "a test with the mark `service` was skipped"

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Turn a good run into a failed one."""
        if self.skipped and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name what was skipped."""
        for node, told in sorted(self.skipped.items()):
            terminalreporter.write_line(f"{told}: {node}", red=True)


def pytest_configure(config: pytest.Config) -> None:
    """Guard the register in the process that reports, not in its workers."""
    register = Path(__file__).with_name("register.toml")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(RegisterGuard(register), "register-guard")
