"""A ChatModel whose calls are written into the account, and stop where the day's money is spent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date

from goat.errors import BackendUnavailable, ModelError, ModelFault
from goat.ports.models import ChatModel, TokenCounter, UsageLog
from goat.ports.run import Clock, Observer
from goat.records.models import ChatMessage, ModelRequest, Reply
from goat.records.turns import Notice
from goat.records.usage import ModelCall, Usage, dollars
from goat.settings.providers import FREE, Price


class MeteredModel:
    """Passes calls on to a model and keeps what they used.

    Every call that used something counts, also one that failed, broke off or was cancelled. Where the endpoint told no
    counts although it answered, they are estimated, and marked so. A cost that the endpoint tells comes before one
    that is computed from the `price`; without either it is unknown.

    From `daily_limit_usd` on, 0 for none, spent by all owners together on a day of the clock's zone, calls are refused
    before they are made, unless they are free. A call that has begun is finished.
    """

    def __init__(
        self,
        model: ChatModel,
        provider: str,
        price: Price | None,
        log: UsageLog,
        tokens: TokenCounter,
        clock: Clock,
        observer: Observer,
        daily_limit_usd: float = 0.0,
    ) -> None:
        self._model = model
        self._provider = provider
        self._price = price
        self._log = log
        self._tokens = tokens
        self._clock = clock
        self._observer = observer
        self._limit = daily_limit_usd

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    async def reply(self, request: ModelRequest, on_text: Callable[[str], None] | None = None) -> Reply:
        """The model's reply, with its cost. Raises `ModelError`, of the kind `LIMIT` when the day's money is spent."""
        await self._require_money()
        heard = _Heard(on_text)
        try:
            reply = await self._model.reply(request, heard if on_text else None)
        except ModelError as failure:
            failure.usage = await self._book(request, failure.usage, heard.pieces)
            raise
        except asyncio.CancelledError:
            await asyncio.shield(self._book(request, Usage(), heard.pieces))
            raise
        return replace(reply, usage=await self._book(request, reply.usage, [reply.text]))

    async def _require_money(self) -> None:
        if not self._limit or self._price == FREE:
            return
        spent = await self._log.spent(self._today())
        if spent >= self._limit:
            raise ModelError(
                self.name,
                f"today's limit of {dollars(self._limit)} is reached ({dollars(spent)} spent)",
                "Your message is kept; ask again tomorrow, or raise [model] daily_limit_usd.",
                ModelFault.LIMIT,
            )

    async def _book(self, request: ModelRequest, told: Usage, said: Sequence[str]) -> Usage:
        """Write down what a call used and return it with its cost. A call that brought nothing used nothing."""
        text = "".join(said)
        usage = told if told or not text else self._estimate(request.messages, text)
        if not usage:
            return usage
        if usage.cost_usd is None and self._price is not None:
            usage = replace(usage, cost_usd=self._price.cost(usage))
        await self._keep(request, usage)
        return usage

    def _estimate(self, messages: Sequence[ChatMessage], text: str) -> Usage:
        prompt = sum(self._tokens.count(message.content) for message in messages)
        return Usage(prompt, self._tokens.count(text), estimated=True)

    async def _keep(self, request: ModelRequest, usage: Usage) -> None:
        call = ModelCall(
            at=self._clock.now(),
            day=self._today(),
            owner=request.owner,
            chat=request.chat,
            exchange_id=request.exchange_id,
            provider=self._provider,
            model=self.name,
            usage=usage,
        )
        try:
            await self._log.record(call)
        except BackendUnavailable as failure:  # the answer is there and paid for
            self._observer.notice(Notice("the account of model calls", f"a call is missing in it: {failure}"))

    def _today(self) -> date:
        return self._clock.now().astimezone(self._clock.zone()).date()


class _Heard:
    """Hands pieces on and remembers them."""

    def __init__(self, on_text: Callable[[str], None] | None) -> None:
        self._on_text = on_text
        self.pieces: list[str] = []

    def __call__(self, piece: str) -> None:
        self.pieces.append(piece)
        if self._on_text is not None:
            self._on_text(piece)
