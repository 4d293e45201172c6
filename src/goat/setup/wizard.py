"""The questions of `goat setup`, and the offer of the first start."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from pydantic import SecretStr

from goat.errors import GoatError, ModelError, SettingsError
from goat.settings import OFFLINE, OTHER, Loaded, ModelEndpoint, Provider, Settings, key_of, provider_of, providers
from goat.settings.endpoint import NO_KEY
from goat.settings.sections import plausible_secret, usable_url
from goat.setup.answers import Answers
from goat.setup.ollama import find_ollama
from goat.setup.prompts import Choice, Prompts

Check = Callable[[ModelEndpoint], Awaitable[str]]
"""Makes one real call and returns what the model said. Raises `ModelError`."""

FindModels = Callable[[], Awaitable[list[str]]]
"""Looks for the models of a local Ollama."""

OLLAMA = "ollama"
TYPED = "\0typed"
"""Stands for a model whose name the person types."""


class AlreadySetUp(GoatError):
    """Setup has been done and nobody asked for it again."""

    def __init__(self, file: Path) -> None:
        self.file = file
        super().__init__(f"GOAT is set up already, in {file}. Run `goat setup --reconfigure` to change it.")


async def run_wizard(
    prompts: Prompts,
    loaded: Loaded,
    check: Check,
    *,
    reconfigure: bool = False,
    find_models: FindModels = find_ollama,
) -> Answers:
    """Ask for provider, key and model, and try them with one real call. Nothing is written.

    Raises `AlreadySetUp` when a provider is chosen already and `reconfigure` is not given, `SetupCancelled` when the
    person breaks off.
    """
    if loaded.settings.model.provider and not reconfigure:
        raise AlreadySetUp(loaded.files.toml)
    local = await find_models()
    while True:
        choice = await _choose_provider(prompts, loaded.settings, local)
        if choice == OFFLINE:
            return Answers(OFFLINE)
        answers = await _details(prompts, loaded.settings, providers()[choice], local)
        if answers is not None and await _holds(prompts, answers, loaded.settings, check):
            return answers


def wants_setup(loaded: Loaded) -> bool:
    """Whether this is a first start: no `goat2.toml`, and no model named by the environment or `.env`."""
    try:
        unnamed = provider_of(loaded.settings) is None
    except SettingsError:
        return False
    return unnamed and not loaded.settings.model.provider and not loaded.files.toml.exists()


async def offer_setup(
    prompts: Prompts, loaded: Loaded, check: Check, *, terminal: bool, find_models: FindModels = find_ollama
) -> Answers | None:
    """On a first start in a terminal: start offline (Enter), set up (s), or use the Ollama model found here (o).

    Returns what is to be written; writing it keeps the offer from coming again. None when there is nothing to offer:
    without a terminal, or when GOAT is set up. Raises `SetupCancelled`.
    """
    if not terminal or not wants_setup(loaded):
        return None
    local = await find_models()
    prompts.say("GOAT has no language model yet. Offline it answers by quoting what it remembers.")
    options = [
        "Enter = start now, offline",
        "s = set up a model",
        *([f"o = use {local[0]} of Ollama"] if local else []),
    ]
    while True:
        given = (await prompts.ask(f"{', '.join(options)}:")).strip().lower()
        if not given:
            return Answers()
        if given == "s":
            return await run_wizard(prompts, loaded, check, find_models=find_models)
        if given == "o" and local:
            return Answers(OLLAMA, local[0])
        prompts.say(f"{given!r} is none of these.")


async def _choose_provider(prompts: Prompts, settings: Settings, local: Sequence[str]) -> str:
    rows = providers().values()
    choices = [Choice(row.id, _title(row, local)) for row in rows]
    choices.append(Choice(OFFLINE, "None: stay offline"))
    recommended = next(row.id for row in rows if row.recommended)
    return await prompts.choose("Which provider?", choices, settings.model.provider or recommended)


def _title(row: Provider, local: Sequence[str]) -> str:
    if row.id == OLLAMA and local:
        return f"{row.name} (running here, {len(local)} models)"
    return f"{row.name} (recommended)" if row.recommended else row.name


async def _details(prompts: Prompts, settings: Settings, provider: Provider, local: Sequence[str]) -> Answers | None:
    """Address, key and model; None when the person has no key and wants to choose again."""
    prompts.say(provider.notes)
    present = settings.model if settings.model.provider == provider.id else None
    base_url = present.base_url if present else ""
    if provider.id == OTHER or (provider.id == OLLAMA and not local):
        base_url = await _ask_url(prompts, provider, base_url)
    set_already = bool(key_of(settings, provider))
    key = await _ask_key(prompts, provider, set_already)
    if provider.needs_key and not key and not set_already:
        prompts.say(f"{provider.name} needs a key. You get one at: {provider.docs}.")
        return None
    known = local if provider.id == OLLAMA and local else provider.models
    model = await _choose_model(prompts, known, present.name if present else "")
    return Answers(provider.id, model, base_url, key)


async def _ask_url(prompts: Prompts, provider: Provider, present: str) -> str:
    """The endpoint's address, empty when it is the provider's own."""
    while True:
        given = await prompts.ask("Address of the endpoint (mostly ends in /v1):", present or provider.base_url)
        try:
            if usable_url(given):
                return "" if given == provider.base_url else given
        except ValueError as unusable:
            prompts.say(f"{given!r} {unusable}.")


async def _ask_key(prompts: Prompts, provider: Provider, set_already: bool) -> SecretStr:
    """A new key, empty when the person gives none."""
    if not provider.env_key:
        return NO_KEY
    hint = " (Enter keeps the present one)" if set_already else "" if provider.needs_key else " (Enter for none)"
    while True:
        given = await prompts.secret(f"Key for {provider.name}{hint}:")
        try:
            return plausible_secret(SecretStr(given))
        except ValueError as implausible:
            prompts.say(f"The key {implausible}.")


async def _choose_model(prompts: Prompts, known: Sequence[str], present: str) -> str:
    names = list(dict.fromkeys([*([present] if present else []), *known]))
    choice = TYPED
    if names:
        choices = [*(Choice(name, name) for name in names), Choice(TYPED, "Another, by its name")]
        choice = await prompts.choose("Which model?", choices, names[0])
    while choice == TYPED or not choice:
        choice = await prompts.ask("Name of the model:")
    return choice


async def _holds(prompts: Prompts, answers: Answers, settings: Settings, check: Check) -> bool:
    """Try the answers. Whether they are to be kept."""
    prompts.say(f"Asking {answers.model} for a word ...")
    try:
        said = await check(answers.endpoint(settings))
    except ModelError as failed:
        prompts.say(str(failed))
        choices = [Choice("again", "Change the answers"), Choice("keep", "Keep them as they are")]
        return await prompts.choose("What now?", choices, "again") == "keep"
    prompts.say(f"It answers: {' '.join(said.split())[:80]}")
    return True
