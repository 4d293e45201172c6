"""Every tunable, once: its type, its default, its limits and the sentence that documents it.

The names of sections and keys are those of `goat2.toml`. A rule between keys stands in `contradictions` of its section.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field, SecretStr

from goat.errors import SettingsError, nearest
from goat.settings.providers import OFFLINE, OTHER, providers
from goat.settings.section import Names, Section
from goat.settings.section_mcp import McpServer
from goat.settings.section_telegram import TelegramSettings
from goat.settings.section_tools import PluginSettings, ToolSettings

Count = Annotated[int, Field(gt=0)]
Tokens = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Cosine = Annotated[float, Field(gt=0, le=1)]


@dataclass(frozen=True, slots=True)
class Environment:
    """The short environment names of a key; the first outranks the others."""

    names: tuple[str, ...]


def env(*names: str) -> Environment:
    """Short names, with the first one's `GOAT_` form as the last alias."""
    prefixed = names[0] if names[0].startswith("GOAT_") else f"GOAT_{names[0]}"
    return Environment(tuple(dict.fromkeys((*names, prefixed))))


def usable_url(value: str) -> str:
    """The address of an endpoint as it is, or empty. Raises `ValueError` when it is no HTTP URL."""
    if not value:
        return value
    try:
        parts = urlsplit(value)
    except ValueError as broken:
        raise ValueError(f"must be a URL ({broken})") from broken
    if parts.scheme not in {"http", "https"} or not parts.hostname or any(character.isspace() for character in value):
        raise ValueError("must be a URL such as http://localhost:8000/v1")
    return value


def _known_provider(value: str) -> str:
    known = [*providers(), OFFLINE]
    if value and value not in known:
        raise ValueError(f"must be one of {', '.join(known)}{nearest(value, known)}")
    return value


def _known_zone(value: str) -> str:
    try:
        if value:
            ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError) as unknown:
        raise ValueError("must be an IANA time zone such as Europe/Bucharest, or empty") from unknown
    return value


def plausible_secret(secret: SecretStr) -> SecretStr:
    """The secret without surrounding space. Raises `ValueError` for characters that no key or token has."""
    text = secret.get_secret_value().strip()
    if not text.isascii() or any(not "!" <= character <= "~" for character in text):
        raise ValueError("holds spaces or characters that no key has; copy it again")
    return SecretStr(text)


Secret = Annotated[SecretStr, AfterValidator(plausible_secret)]
UsdPerMillion = Annotated[float, Field(ge=0)]


class IdentitySettings(Section):
    """L0, who GOAT is."""

    base_prompt: str = Field(
        default="You are GOAT, a helpful assistant with layered memory.",
        min_length=1,
        description="The identity text of an owner who has set none.",
    )


class PermanentSettings(Section):
    """L1, the facts."""

    l1_facts_max_tokens: Tokens = Field(
        default=2000, description="A fact is refused when the facts block would grow beyond this many tokens."
    )


class WorkingSettings(Section):
    """L2, the conversation as the model sees it."""

    max_messages: Count = Field(default=20, description="How many messages are kept when the history is trimmed.")
    trim_surplus: Count = Field(
        default=4, description="How many messages beyond `max_messages` may gather before the oldest are dropped."
    )


class AitsSettings(Section):
    """Adaptive Intent Token Scaling: base + confidence x multiplier + complexity x bonus, up to the cap."""

    budget_base: Tokens = Field(default=2000, description="The context budget of a greeting, in tokens.")
    confidence_multiplier: Annotated[int, Field(ge=0)] = Field(
        default=4000, description="Tokens added for a question that surely asks for memory."
    )
    complexity_max_bonus: Annotated[int, Field(ge=0)] = Field(
        default=2000, description="Tokens added for a long message with many parts."
    )
    budget_hard_cap: Tokens = Field(default=12000, description="The context budget never exceeds this.")

    def contradictions(self) -> Iterator[str]:
        """The cap cannot lie below the base."""
        if self.budget_hard_cap < self.budget_base:
            yield (
                f"budget_hard_cap ({self.budget_hard_cap}) must not be smaller than budget_base ({self.budget_base})"
            )


class RetrievalBudgetSettings(Section):
    """How the context budget is shared between L2 and L3, and how many results are looked at."""

    max_results_per_search: Count = Field(
        default=20, description="The most results that the search inside a turn returns."
    )
    l2_floor_tokens: Annotated[int, Field(ge=0)] = Field(
        default=500, description="What L2 keeps when L3's guarantee would leave it less."
    )
    l3_min_guarantee_tokens: Tokens = Field(
        default=1200, description="What L3 gets before L2 takes the rest, in tokens."
    )
    temporal_l3_guarantee_tokens: Tokens = Field(
        default=4000, description="L3's guarantee when the message names a time."
    )
    l3_gap_significance: Annotated[float, Field(gt=1)] = Field(
        default=3.0, description="Results after a gap this many times the mean gap are cut off."
    )


class PrefetchSettings(Section):
    """The search after a reply, and the order of the results that a thread holds."""

    max_results: Count = Field(default=20, description="How many results a thread holds.")
    recency_window_days: Annotated[float, Field(gt=0)] = Field(
        default=30, description="The age in days at which recency counts nothing any more."
    )
    access_count_ref: Count = Field(default=10, description="The number of accesses at which the access score is full.")
    score_similarity_weight: Share = Field(default=0.6, description="The weight of relevance in the held list.")
    score_recency_weight: Share = Field(default=0.3, description="The weight of recency in the held list.")
    score_access_weight: Share = Field(default=0.1, description="The weight of accesses in the held list.")
    merge: Literal["fused", "published"] = Field(
        default="fused",
        description="`fused` pools calibrated scores; `published` applies the three weights to the whole pool.",
    )

    def contradictions(self) -> Iterator[str]:
        """The three weights share one whole."""
        total = self.score_similarity_weight + self.score_recency_weight + self.score_access_weight
        if abs(total - 1) > 1e-6:
            yield (
                f"score_similarity_weight, score_recency_weight and score_access_weight must add up to 1, not {total:g}"
            )


class ActivationSettings(Section):
    """L2.5, the thread of a chat. Thresholds left out are those calibrated for the embedding model."""

    ttl_seconds: Seconds = Field(default=604800, description="How long an idle chat's thread is remembered.")
    held_fresh_seconds: Annotated[float, Field(ge=0)] = Field(
        default=3600,
        description="Held results older than this are not served without a search; with 0 they never grow old.",
    )
    drift_warm: Cosine | None = Field(default=None, description="At or above this cosine a message is on the thread.")
    drift_cold: Cosine | None = Field(default=None, description="Below this cosine a message may be a new topic.")
    enriching_sim: Cosine | None = Field(
        default=None, description="From this cosine on a stored fact refreshes the thread at once."
    )
    lexical_low: Share | None = Field(
        default=None, description="Below this word overlap a distant message is a new topic."
    )
    topic_return_threshold: Cosine | None = Field(
        default=None, description="From this cosine on a message resumes an earlier topic."
    )
    lexical_window: Count = Field(default=5, description="How many recent messages count for the word overlap.")
    topic_archive_max: Count = Field(default=10, description="How many left topics a chat can resume.")

    def contradictions(self) -> Iterator[str]:
        """Warm lies above cold; with one of them set, `thresholds` compares it with the calibrated other."""
        if self.drift_warm is not None and self.drift_cold is not None and self.drift_warm <= self.drift_cold:
            yield f"drift_warm ({self.drift_warm:g}) must be greater than drift_cold ({self.drift_cold:g})"

    def thresholds(self, calibrated: Mapping[str, float], model: str) -> dict[str, float]:
        """The calibrated row of an embedding model with the keys set here in place of its own.

        `calibrated` maps the names of the five thresholds to values. Raises `SettingsError` when an override
        contradicts the row.
        """
        merged = {
            name: own if (own := getattr(self, name)) is not None else value for name, value in calibrated.items()
        }
        if merged["drift_warm"] <= merged["drift_cold"]:
            raise SettingsError(
                [
                    f"[activation] drift_warm ({merged['drift_warm']:g}) must be greater than drift_cold "
                    f"({merged['drift_cold']:g}); what is not set comes from the calibration of {model}"
                ]
            )
        return merged


class RecallSettings(Section):
    """The search inside a turn, and how recalled memories are shown to the model."""

    reflex: Literal["auto", "never", "always"] = Field(
        default="auto",
        description="When a turn searches: `auto` when the held results cannot serve, `never`, or `always`.",
    )
    deadline_ms: Annotated[int, Field(gt=0)] = Field(
        default=250, description="The search inside a turn ends after this many milliseconds."
    )
    header: str = Field(
        default="[Context recuperat din istoric]",
        min_length=1,
        pattern=r"^[^\r\n]*$",
        description="The line above the recalled memories in the prompt.",
    )
    min_relevance: Share = Field(default=0.3, description="Results below this relevance are not shown to the model.")


class EntityBoostSettings(Section):
    """Names, places and codes: how they are found, and what a result gains that names what the query names."""

    extractor: Literal["rules", "none"] = Field(
        default="rules", description="Names are found by `rules`, or not at all."
    )
    weight: Annotated[float, Field(ge=0)] | None = Field(
        default=None, description="What a result gains that names all of it, a rare name most; left out: 0.2."
    )


class ModelSettings(Section):
    """The language model that answers."""

    provider: Annotated[str, AfterValidator(_known_provider)] = Field(
        default="",
        description="A provider of the table below, or `offline`. Empty: by `base_url`, else the first one with a key.",
    )
    name: Annotated[str, env("MODEL_NAME")] = Field(
        default="", description="The model's name, or the path of a GGUF file; empty takes the provider's first."
    )
    base_url: Annotated[str, AfterValidator(usable_url), env("BASE_URL")] = Field(
        default="", description="The endpoint's address; empty takes the provider's own."
    )
    fallbacks: Names = Field(
        default=(),
        description="Models that answer when the one above cannot, in this order, as `provider/model`.",
    )
    temperature: Annotated[float, Field(ge=0, le=2), env("TEMPERATURE")] = Field(
        default=0.5, description="How freely the model chooses its words."
    )
    max_tokens: Annotated[int, Field(gt=0), env("MAX_TOKENS")] = Field(
        default=2048, description="The longest answer, in tokens."
    )
    context_tokens: Annotated[int, Field(ge=0)] = Field(
        default=0,
        description="How many tokens prompt and answer may have together; 0 takes what is known of the model.",
    )
    timeout_seconds: Annotated[float, Field(gt=0), env("TIMEOUT_SECONDS")] = Field(
        default=60, description="How long the first piece of an answer may take before a call is given up."
    )
    stall_seconds: Seconds = Field(default=30, description="How long an answer may pause between two pieces.")
    call_seconds: Seconds = Field(
        default=100, description="How long a whole call may take; what has come until then is the answer."
    )
    daily_limit_usd: Annotated[float, Field(ge=0)] = Field(
        default=0, description="When all calls of a day have cost this much, no more are made; 0 means no limit."
    )
    input_price: UsdPerMillion | None = Field(
        default=None, description="USD per million tokens of the prompt, where the table below is silent or wrong."
    )
    cached_price: UsdPerMillion | None = Field(
        default=None, description="USD per million tokens of the prompt that the provider had in its cache."
    )
    output_price: UsdPerMillion | None = Field(
        default=None, description="USD per million tokens of the answer; without it a price is not known."
    )

    def contradictions(self) -> Iterator[str]:
        """An endpoint outside the table has no address of its own."""
        if self.provider == OTHER and not self.base_url:
            yield "provider 'other' needs a base_url"


class TurnSettings(Section):
    """The handling of one message."""

    timeout_seconds: Annotated[float, Field(gt=0), env("GOAT_TURN_TIMEOUT")] = Field(
        default=120,
        description="A turn that takes longer is ended with a sentence; waiting for your answer to a question does not "
        "count.",
    )
    session_gap_seconds: Seconds = Field(default=1800, description="A pause this long begins a new session.")
    zone: Annotated[str, AfterValidator(_known_zone)] = Field(
        default="", description="The IANA time zone in which the owner reads times; empty takes the machine's."
    )


class LogSettings(Section):
    """What GOAT writes down about its own work."""

    level: Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], env("GOAT_LOG_LEVEL")] = Field(
        default="INFO", description="The least important lines that are written."
    )
    dir: Annotated[str, env("GOAT_LOG_DIR")] = Field(
        default="", description="The folder of the log files; empty takes `logs` in the data folder."
    )
    max_bytes: Annotated[int, Field(gt=0), env("GOAT_LOG_MAX_BYTES")] = Field(
        default=10 * 1024 * 1024, description="A log file that grows beyond this is put aside."
    )
    backup_count: Annotated[int, Field(ge=0), env("GOAT_LOG_BACKUP_COUNT")] = Field(
        default=5, description="How many put-aside log files are kept."
    )


class KeySettings(Section):
    """Secrets, by provider. They come from the environment or from `.env`, never from `goat2.toml`."""

    deepseek: Annotated[Secret, env("DEEPSEEK_API_KEY")] = Field(
        default=SecretStr(""), description="The key for DeepSeek."
    )
    openai: Annotated[Secret, env("OPENAI_API_KEY")] = Field(default=SecretStr(""), description="The key for OpenAI.")
    anthropic: Annotated[Secret, env("ANTHROPIC_API_KEY")] = Field(
        default=SecretStr(""), description="The key for Anthropic."
    )
    groq: Annotated[Secret, env("GROQ_API_KEY")] = Field(default=SecretStr(""), description="The key for Groq.")
    openrouter: Annotated[Secret, env("OPENROUTER_API_KEY")] = Field(
        default=SecretStr(""), description="The key for OpenRouter."
    )
    gemini: Annotated[Secret, env("GEMINI_API_KEY")] = Field(
        default=SecretStr(""), description="The key for Google Gemini."
    )
    other: Annotated[Secret, env("MODEL_API_KEY")] = Field(
        default=SecretStr(""), description="The key for an endpoint that the table of providers does not know."
    )
    telegram: Annotated[Secret, env("TELEGRAM_BOT_TOKEN", "TELEGRAM_TOKEN")] = Field(
        default=SecretStr(""), description="The token of the Telegram bot."
    )
    telegram_webhook: Annotated[Secret, env("TELEGRAM_WEBHOOK_SECRET")] = Field(
        default=SecretStr(""), description="What Telegram sends along with pushed messages; a webhook needs it."
    )


class Settings(Section):
    """All settings. Made by `goat.settings.load`; the sections can be made alone in tests."""

    profile: Literal["embedded", "sources"] = Field(
        default="embedded",
        description="`embedded` needs no server; `sources` uses Redis, ChromaDB and Letta.",
    )
    admin: str = Field(default="admin", min_length=1, description="The owner name of the person who runs GOAT.")
    identity: IdentitySettings = IdentitySettings()
    permanent: PermanentSettings = PermanentSettings()
    working: WorkingSettings = WorkingSettings()
    aits: AitsSettings = AitsSettings()
    retrieval_budget: RetrievalBudgetSettings = RetrievalBudgetSettings()
    prefetch: PrefetchSettings = PrefetchSettings()
    activation: ActivationSettings = ActivationSettings()
    recall: RecallSettings = RecallSettings()
    entity_boost: EntityBoostSettings = EntityBoostSettings()
    model: ModelSettings = ModelSettings()
    turn: TurnSettings = TurnSettings()
    tools: ToolSettings = ToolSettings()
    plugins: PluginSettings = PluginSettings()
    telegram: TelegramSettings = TelegramSettings()
    mcp: dict[str, McpServer] = Field(default={})
    logs: LogSettings = LogSettings()
    keys: KeySettings = KeySettings()

    def secrets(self) -> Iterator[str]:
        """Every secret that was given, for whoever must keep them out of a text."""
        yield from (secret.get_secret_value() for _, secret in self.keys if secret)
        for server in self.mcp.values():
            yield from server.secrets()
