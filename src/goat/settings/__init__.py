"""Settings: every tunable once, with its default and its sentence."""

from goat.settings.endpoint import (
    ModelEndpoint,
    endpoint_at,
    endpoint_named,
    fallbacks_of,
    fitted,
    key_of,
    provider_of,
)
from goat.settings.files import Files
from goat.settings.load import Loaded, load
from goat.settings.providers import GGUF, OFFLINE, OTHER, ModelFacts, Price, Provider, provider_at, providers
from goat.settings.sections import ModelSettings, Settings

__all__ = [
    "GGUF",
    "OFFLINE",
    "OTHER",
    "Files",
    "Loaded",
    "ModelEndpoint",
    "ModelFacts",
    "ModelSettings",
    "Price",
    "Provider",
    "Settings",
    "endpoint_at",
    "endpoint_named",
    "fallbacks_of",
    "fitted",
    "key_of",
    "load",
    "provider_at",
    "provider_of",
    "providers",
]
