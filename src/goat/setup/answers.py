"""What setup asks for, and how it stands in the settings."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import SecretStr

from goat.settings import Loaded, ModelEndpoint, Settings, endpoint_at, key_of, providers
from goat.settings.endpoint import NO_KEY


@dataclass(frozen=True, slots=True)
class Answers:
    """The chosen model. Without a provider nothing was chosen.

    An empty `base_url` is the provider's own address; an empty `key` leaves the one that is set.
    """

    provider: str = ""
    model: str = ""
    base_url: str = ""
    key: SecretStr = NO_KEY

    def endpoint(self, settings: Settings) -> ModelEndpoint:
        """Where these answers lead, with the key of the settings when there is no new one.

        Raises `SettingsError` when something is missing.
        """
        provider = providers()[self.provider]
        return endpoint_at(provider, self.model, self.base_url, self.key or key_of(settings, provider))


def answers_of(settings: Settings) -> Answers:
    """The answers that the settings hold now."""
    model = settings.model
    provider = providers().get(model.provider)
    key = key_of(settings, provider) if provider else NO_KEY
    return Answers(model.provider, model.name, model.base_url, key)


def outranked(answers: Answers, loaded: Loaded) -> list[str]:
    """Sentences about answers that will not count, because a source above the files says otherwise.

    `loaded` may be from before or after the answers were written.
    """
    wanted = {
        "model.provider": (answers.provider, loaded.settings.model.provider),
        "model.name": (answers.model, loaded.settings.model.name),
        "model.base_url": (answers.base_url, loaded.settings.model.base_url),
    }
    provider = providers().get(answers.provider)
    if provider is not None and answers.key:
        wanted[f"keys.{provider.id}"] = (
            answers.key.get_secret_value(),
            key_of(loaded.settings, provider).get_secret_value(),
        )
    files = (str(loaded.files.toml), str(loaded.files.env))
    return [
        f"{source} outranks what setup wrote for {path}; remove it there for the new value to count."
        for path, (new, effective) in wanted.items()
        if new != effective and (source := loaded.sources.get(path)) and not source.endswith(files)
    ]
