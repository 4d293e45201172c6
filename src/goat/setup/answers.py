"""What setup asks for, and how it stands in the settings."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import SecretStr

from goat.settings import Loaded, ModelEndpoint, Settings, endpoint_at, key_of, providers

NO_KEY = SecretStr("")


@dataclass(frozen=True, slots=True)
class Answers:
    """The chosen model. Without a provider nothing was chosen; an empty `base_url` is the provider's own address."""

    provider: str = ""
    model: str = ""
    base_url: str = ""
    key: SecretStr = NO_KEY

    def endpoint(self) -> ModelEndpoint:
        """The endpoint that these answers lead to. Raises `SettingsError` when something is missing."""
        return endpoint_at(providers()[self.provider], self.model, self.base_url, self.key)


def answers_of(settings: Settings) -> Answers:
    """The answers that the settings hold now."""
    model = settings.model
    provider = providers().get(model.provider)
    key = key_of(settings, provider) if provider else NO_KEY
    return Answers(model.provider, model.name, model.base_url, key)


def outranked(answers: Answers, loaded: Loaded) -> list[str]:
    """Sentences about answers that do not count, because a source above the files says otherwise."""
    effective = answers_of(loaded.settings)
    pairs = {
        "model.provider": (answers.provider, effective.provider),
        "model.name": (answers.model, effective.model),
        "model.base_url": (answers.base_url, effective.base_url),
        f"keys.{answers.provider}": (answers.key, effective.key),
    }
    return [
        f"{loaded.sources[path]} outranks what setup wrote for {path}; remove it there for the new value to count."
        for path, (wanted, found) in pairs.items()
        if wanted != found and path in loaded.sources
    ]
