"""Settings: every tunable once, with its default and its sentence."""

from goat.settings.endpoint import ModelEndpoint, endpoint_at, key_of, provider_of
from goat.settings.files import Files
from goat.settings.load import Loaded, load
from goat.settings.providers import OFFLINE, OTHER, Provider, provider_at, providers
from goat.settings.sections import ModelSettings, Settings

__all__ = [
    "OFFLINE",
    "OTHER",
    "Files",
    "Loaded",
    "ModelEndpoint",
    "ModelSettings",
    "Provider",
    "Settings",
    "endpoint_at",
    "key_of",
    "load",
    "provider_at",
    "provider_of",
    "providers",
]
