"""Which model endpoint the settings lead to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import SecretStr

from goat.errors import SettingsError
from goat.settings.providers import OFFLINE, Provider, provider_at, providers
from goat.settings.sections import Settings

NO_KEY = SecretStr("")


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """A model at an OpenAI-compatible address. An empty `key` means that none is sent.

    `key_name` is the environment name under which the key is looked for, `request` holds extra fields of the body.
    """

    provider: str
    model: str
    base_url: str
    key: SecretStr = NO_KEY
    key_name: str = ""
    request: Mapping[str, Any] = field(default_factory=dict)


def provider_of(settings: Settings) -> ModelEndpoint | None:
    """The endpoint that the settings name, None when GOAT is to work offline.

    A named provider counts; else the one at `base_url`; else the first of the table whose key is set. A key is only
    ever sent to its own provider's address, or to a `base_url` given together with the provider's name.

    Raises `SettingsError` saying what is missing.
    """
    provider = _chosen(settings)
    if provider is None:
        return None
    return endpoint_at(provider, settings.model.name, settings.model.base_url, key_of(settings, provider))


def endpoint_at(provider: Provider, model: str, base_url: str, key: SecretStr) -> ModelEndpoint:
    """The endpoint of a provider; an empty model or address takes the provider's own.

    Raises `SettingsError` saying what is missing.
    """
    faults = []
    model = model or next(iter(provider.models), "")
    if not model:
        faults.append(f"provider {provider.id!r} needs the name of a model: set [model] name, or MODEL_NAME")
    base_url = base_url or provider.base_url
    if not base_url:
        faults.append(f"provider {provider.id!r} needs an address: set [model] base_url, or BASE_URL")
    if provider.needs_key and not key:
        faults.append(
            f"provider {provider.id!r} needs a key: put {provider.env_key} into .env or the environment, "
            "or run `goat setup`"
        )
    if faults:
        raise SettingsError(faults)
    return ModelEndpoint(provider.id, model, base_url, key, provider.env_key, provider.request)


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
