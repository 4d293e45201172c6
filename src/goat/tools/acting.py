"""Puts the loop, the policy and the tools of each turn together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from goat.ports.edges import Approvals
from goat.ports.models import ChatModel
from goat.ports.run import Clock, Steps
from goat.records.models import ModelRequest
from goat.settings import Settings
from goat.tools.limits import Equipment, Limits
from goat.tools.loop import ToolLoop
from goat.tools.policy import Askers, Policy, Rules
from goat.tools.redact import Redactor
from goat.tools.tool import ToolContext, ToolDefinition
from goat.tools.toolbox import Toolbox

Group = Callable[[], Sequence[ToolDefinition]]


class Outfit:
    """Gives each turn its snapshot of the tools. Groups added earlier win where two tools have one name."""

    def __init__(self, policy: Policy, clock: Clock, admin: str, workspaces: Path, own_workspace: str = "") -> None:
        self._policy = policy
        self._clock = clock
        self._admin = admin
        self._workspaces = workspaces
        self._own = own_workspace
        self._over: Callable[[ToolDefinition], ToolDefinition] = lambda tool: tool
        self._groups: list[Group] = []
        self._starting: list[Callable[[], Awaitable[None]]] = []

    def wrap(self, over: Callable[[ToolDefinition], ToolDefinition]) -> None:
        """Give every tool as `over` makes it from now on."""
        self._over = over

    def add(self, group: Group, started: Callable[[], Awaitable[None]] | None = None) -> None:
        """Add a source of tools; it is asked at the start of each turn. `started` waits until its tools are there."""
        self._groups.append(group)
        self._starting += [started] if started is not None else []

    async def started(self) -> None:
        """Wait until every source has its tools or has failed to start."""
        for started in self._starting:
            await started()

    def toolbox(self) -> Toolbox:
        """All tools of this moment."""
        return Toolbox.of(*(map(self._over, group()) for group in self._groups))

    def context(self, owner: str, chat: str) -> ToolContext:
        """For whom a turn's tools work. Each owner has a workspace of their own."""
        admin = owner == self._admin
        named = quote(owner, safe="").replace(".", "%2E") or "nobody"
        own = Path(self._own).expanduser() if admin and self._own else self._workspaces / named
        return ToolContext(owner, chat, own, self._clock, admin=admin)

    def __call__(self, request: ModelRequest) -> Equipment | None:
        """The tools of a turn that its owner may use; None when there are none."""
        context = self.context(request.owner, request.chat)
        usable = Toolbox.of(tool for tool in self.toolbox() if self._policy.offered(tool, context))
        return Equipment(usable, context) if usable else None


@dataclass(frozen=True, slots=True)
class Acting:
    """How the model acts: the loop, who may be asked, and where tools come from."""

    loop: ToolLoop
    outfit: Outfit
    policy: Policy
    askers: Askers
    redact: Redactor


def acting(
    settings: Settings, model: ChatModel, steps: Steps, approvals: Approvals, clock: Clock, workspaces: Path
) -> Acting:
    """The loop over a model, as the settings have it. `workspaces` is the folder that holds the owners' workspaces."""
    chosen = settings.tools
    redact = Redactor(settings.secrets())
    askers = Askers()
    rules = Rules(chosen.allow, chosen.ask, chosen.deny, chosen.guests)
    policy = Policy(rules, approvals, askers, clock, redact, chosen.approval_seconds)
    outfit = Outfit(policy, clock, settings.admin, workspaces, chosen.workspace)
    limits = Limits(chosen.rounds, chosen.output_chars, chosen.result_chars, chosen.timeout_seconds)
    return Acting(ToolLoop(model, steps, outfit, policy, limits, redact), outfit, policy, askers, redact)
