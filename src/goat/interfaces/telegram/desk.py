"""What the commands may say of what is under way."""

from __future__ import annotations

from goat.interfaces.telegram.egress import Egress
from goat.interfaces.telegram.status import State, Status
from goat.interfaces.telegram.turns import Turns
from goat.interfaces.texts import Texts


class FrontDesk:
    """See `goat.interfaces.telegram.commands.Desk`. The turns come to it after the commands, which they need."""

    def __init__(self, status: Status, egress: Egress) -> None:
        self._status = status
        self._egress = egress
        self.turns: Turns | None = None

    async def status_lines(self, say: Texts) -> list[str]:
        """How the bot is doing."""
        lines = [self._receiving(say)]
        if self.turns is not None:
            lines.append(say("status.turns", running=self.turns.running, waiting=self.turns.waiting))
            if self.turns.held:
                lines.append(say("status.held"))
        delivery = await self._egress.status()
        if delivery.waiting or delivery.undelivered:
            lines.append(say("status.delivery", waiting=delivery.waiting, lost=len(delivery.undelivered)))
        return lines

    def _receiving(self, say: Texts) -> str:
        seconds = round(self._status.silence)
        if self._status.state is State.RECEIVING:
            return say("status.receiving", seconds=seconds)
        state, reason = say(f"states.{self._status.state.value}"), say.told(self._status.reason)
        return say("status.not_receiving", state=state, reason=reason, seconds=seconds)
