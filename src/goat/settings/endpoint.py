"""Which model endpoints the settings lead to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import SecretStr

from goat.errors import SettingsError, nearest
from goat.settings.providers import GGUF, OFFLINE, OTHER, ModelFacts, Price, Provider, provider_at, providers
from goat.settings.sections import Settings

NO_KEY = SecretStr("")

SPARE_TOKENS = 512
"""What is left free between prompt and answer: the prompt's tokens are an estimate."""

SMALLEST_PROMPT = 1000


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """A model at an OpenAI-compatible address, or a file. An empty `key` means that none is sent.

    `key_name` is the environment name under which the key is looked for, `request` holds extra fields of the body,
    `facts` what is known of the model.
    """

    provider: str
    model: str
    base_url: str
    key: SecretStr = NO_KEY
    key_name: str = ""
    request: Mapping[str, Any] = field(default_factory=dict)
    facts: ModelFacts = field(default_factory=ModelFacts)

    @property
    def title(self) -> str:
        """`provider/model`, as it is written in `fallbacks`."""
        return f"{self.provider}/{self.model}"


def provider_of(settings: Settings) -> ModelEndpoint | None:
    """The endpoint that the settings name, None when GOAT is to work offline.

    A named provider counts; else the one at `base_url`; else the first of the table whose key is set. A key is only
    ever sent to its own provider's address, or to a `base_url` given together with the provider's name.

    Raises `SettingsError` saying what is missing.
    """
    provider = _chosen(settings)
    if provider is None:
        return None
    model = settings.model
    endpoint = endpoint_at(provider, model.name, model.base_url, key_of(settings, provider))
    return replace(endpoint, facts=_overridden(endpoint.facts, settings))


def endpoint_at(provider: Provider, model: str, base_url: str, key: SecretStr) -> ModelEndpoint:
    """The endpoint of a provider; an empty model or address takes the provider's own.

    Raises `SettingsError` saying what is missing.
    """
    faults = []
    model = model or next(iter(provider.models), "")
    if not model:
        what = "the path of a file" if provider.id == GGUF else "the name of a model"
        faults.append(f"provider {provider.id!r} needs {what}: set [model] name, or MODEL_NAME")
    base_url = base_url or provider.base_url
    if not base_url and provider.id != GGUF:
        faults.append(f"provider {provider.id!r} needs an address: set [model] base_url, or BASE_URL")
    if provider.needs_key and not key:
        faults.append(
            f"provider {provider.id!r} needs a key: put {provider.env_key} into .env or the environment, "
            "or run `goat setup`"
        )
    if faults:
        raise SettingsError(faults)
    facts = provider.knows(model)
    return ModelEndpoint(provider.id, model, base_url, key, provider.env_key, provider.request, facts)


def endpoint_named(settings: Settings, name: str) -> ModelEndpoint:
    """The endpoint of `provider/model`, of a provider's default model, or of a model that one provider alone has.

    Raises `SettingsError` when the name says nothing or the endpoint lacks something.
    """
    provider, model = _split(name)
    base_url = settings.model.base_url if _own_address(settings, provider) else ""
    endpoint = endpoint_at(provider, model, base_url, key_of(settings, provider))
    present = settings.model
    if endpoint.provider == present.provider and endpoint.model == present.name:
        return replace(endpoint, facts=_overridden(endpoint.facts, settings))
    return endpoint


def fallbacks_of(settings: Settings) -> tuple[ModelEndpoint, ...]:
    """The endpoints of `[model] fallbacks`, in their order. Raises one `SettingsError` with every fault."""
    endpoints: list[ModelEndpoint] = []
    faults: list[str] = []
    for name in settings.model.fallbacks:
        try:
            endpoints.append(endpoint_named(settings, name))
        except SettingsError as wrong:
            faults.extend(f"[model] fallbacks, {name!r}: {fault}" for fault in wrong.faults)
    if faults:
        raise SettingsError(faults)
    return tuple(endpoints)


def fitted(settings: Settings) -> Settings:
    """The settings with a context budget that the model can take, where its context is known and small."""
    endpoint = provider_of(settings)
    context = endpoint.facts.context_tokens if endpoint else None
    if context is None:
        return settings
    room = max(context - settings.model.max_tokens - SPARE_TOKENS, SMALLEST_PROMPT)
    if room >= settings.aits.budget_hard_cap:
        return settings
    update = {"budget_hard_cap": room, "budget_base": min(settings.aits.budget_base, room)}
    return settings.model_copy(update={"aits": settings.aits.model_copy(update=update)})


def key_of(settings: Settings, provider: Provider) -> SecretStr:
    """The key that is set for a provider, empty when there is none."""
    key: SecretStr = getattr(settings.keys, provider.id, NO_KEY)
    return key


def _chosen(settings: Settings) -> Provider | None:
    model = settings.model
    if model.provider:
        return None if model.provider == OFFLINE else providers()[model.provider]
    if model.base_url:
        return provider_at(model.base_url)
    keyed = (row for row in providers().values() if row.needs_key and key_of(settings, row))
    return next(keyed, None)


def _split(name: str) -> tuple[Provider, str]:
    """The provider and the model of a name; an empty model stands for the provider's default."""
    known = providers()
    first, _, rest = name.partition("/")
    if first in known:
        row = known[first]
        return row, name if name in row.models and rest not in row.models else rest
    having = [row for row in known.values() if name in row.models]
    if len(having) == 1:
        return having[0], name
    if having:
        choice = ", ".join(f"{row.id}/{name}" for row in having)
        raise SettingsError([f"the model {name!r} is at more than one provider; name one: {choice}"])
    listed = [*known, *(model for row in known.values() for model in row.models)]
    raise SettingsError(
        [
            f"{name!r} is no model that GOAT knows{nearest(name, listed) or '.'} Write provider/model with one of the "
            f"providers {', '.join(known)}"
        ]
    )


def _own_address(settings: Settings, provider: Provider) -> bool:
    """Whether `[model] base_url` is meant for this provider."""
    chosen = _chosen(settings)
    return bool(settings.model.base_url) and (provider.id == OTHER or (chosen is not None and chosen.id == provider.id))


def _overridden(facts: ModelFacts, settings: Settings) -> ModelFacts:
    """What is known of the main model, with what the settings say in its place."""
    model, known = settings.model, facts.price
    input_price = model.input_price if model.input_price is not None else known.input if known else None
    output_price = model.output_price if model.output_price is not None else known.output if known else None
    cached_price = model.cached_price if model.cached_price is not None else known.cached if known else None
    price = None
    if input_price is not None and output_price is not None:
        price = Price(input_price, output_price, cached_price)
    return ModelFacts(model.context_tokens or facts.context_tokens, price)
