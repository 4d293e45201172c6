"""The page `docs/configuration.md`, written from the settings themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from goat.settings.catalogue import NOT_READ_YET, PROCESS_NAMES, SERVERS, Key, catalogue, sections
from goat.settings.providers import OTHER, ModelFacts, providers
from goat.settings.section_mcp import McpServer

INTRODUCTION = """\
# Configuration

<!-- Written by scripts/make_docs.py from src/goat/settings. Change it there. -->

GOAT runs without any configuration. What you set, you set in one of these places; the upper outranks the lower:

1. arguments of the `goat` command,
2. environment variables,
3. `.env`, meant for keys and tokens,
4. `goat2.toml`,
5. the defaults below.

`goat2.toml` and `.env` stand in the data folder, which is `~/.goat` or what `GOAT_HOME` names. The working directory
counts only when it is GOAT's own checkout, or when `--config` names a `goat2.toml` in it. Each of the two files is read
from one place only.

A key of `goat2.toml` that GOAT does not know is an error, and so is a value of the wrong type; all faults are reported
together. An unknown environment variable that begins with `GOAT_`, or an unknown name in `.env`, is reported and passed
over. An empty variable counts as not set. When two names of one setting are set in one place, the first in the list
below counts.

`goat setup` writes both files; `goat setup --reconfigure` changes them and keeps the old ones as `goat2.toml.backup`
and `.env.backup`. Comments in `goat2.toml` stay in its backup only.
"""

TYPE_WORDS: dict[Any, str] = {
    int: "whole number",
    float: "number",
    str: "text",
    bool: "true or false",
    SecretStr: "secret",
    tuple[str, ...]: "list of texts",
    dict[str, str]: "table of texts",
}
LIMIT_WORDS = {"gt": "above {:g}", "ge": "from {:g}", "le": "up to {:g}", "min_length": "not empty"}


def configuration() -> str:
    """The whole page, in Markdown."""
    keys = list(catalogue().values())
    parts = [INTRODUCTION, "## Top level\n", *_table(key for key in keys if not key.section)]
    for name, model in sections().items():
        parts += ["", f"## [{name}]\n", f"{model.__doc__}\n", *_table(key for key in keys if key.section == name)]
    parts += ["", *_servers(), "", *_providers(), "", *_environment(keys)]
    return "\n".join(parts) + "\n"


def _table(keys: Iterable[Key]) -> Iterator[str]:
    yield "| key | type | default | meaning | environment |"
    yield "| --- | --- | --- | --- | --- |"
    for key in keys:
        names = ", ".join(f"`{name}`" for name in key.environment)
        yield f"| `{key.name}` | {_type(key.field)} | {_default(key)} | {key.field.description} | {names} |"


def _type(field: FieldInfo) -> str:
    base, limits, optional = _parts(field.annotation, list(field.metadata))
    words = ", ".join(f"`{value}`" for value in get_args(base)) if get_origin(base) is Literal else TYPE_WORDS[base]
    return ", ".join(filter(None, [words, " ".join(limits), "optional" if optional else ""]))


def _parts(annotation: Any, metadata: list[Any]) -> tuple[Any, list[str], bool]:
    """The plain type, the limits in words, and whether None is allowed."""
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        nested = [one for data in more for one in (data.metadata if isinstance(data, FieldInfo) else [data])]
        return _parts(inner, [*nested, *metadata])
    if type(None) in get_args(annotation):
        inner = next(one for one in get_args(annotation) if one is not type(None))
        return (*_parts(inner, metadata)[:2], True)
    limits = [
        word.format(limit)
        for data in metadata
        for name, word in LIMIT_WORDS.items()
        if (limit := getattr(data, name, None)) is not None
    ]
    return annotation, limits, False


def _default(key: Key) -> str:
    if key.secret:
        return ""
    value = key.field.default
    if value is None:
        return "calibrated" if key.section == "activation" else "not set"
    return "empty" if value in ("", (), {}) else f"`{value}`"


def _servers() -> Iterator[str]:
    yield f"## [{SERVERS}.NAME]\n"
    yield "One table for each MCP server whose tools GOAT may use; the name begins the names of its tools. They have no"
    yield "names in the environment. `$NAME` or `${NAME}` in a text stands for a value of the environment or of `.env`,"
    yield "where tokens belong; `$$` is a plain `$`. See `docs/plugins.md`.\n"
    yield "| key | type | default | meaning |"
    yield "| --- | --- | --- | --- |"
    for name, one in McpServer.model_fields.items():
        if one.description:
            shown = _default(Key(SERVERS, name, one))
            yield f"| `{name}` | {_type(one)} | {shown} | {one.description} |"


def _providers() -> Iterator[str]:
    yield "## Providers\n"
    yield "What `[model] provider` may name, besides `offline`. A key goes to its own provider's address only, or to a"
    yield "`base_url` that is set together with the provider's name.\n"
    yield "| provider | name | models, the default first | key | address | where to get a key | notes |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for row in providers().values():
        models = ", ".join(f"`{model}`" for model in row.models) or "any"
        key = f"`{row.env_key}`" if row.env_key else "none"
        address = f"`{row.base_url}`" if row.base_url else "yours" if row.id == OTHER else "none"
        recommended = " (recommended)" if row.recommended else ""
        yield f"| `{row.id}`{recommended} | {row.name} | {models} | {key} | {address} | {row.docs} | {row.notes} |"
    yield "\nWhat is known of their models. Prices are USD per million tokens; where one depends on the hour, the"
    yield "higher stands here. The cost of a model without a price is shown as unknown, never as 0.\n"
    yield "| model | context, tokens | input | cached input | output |"
    yield "| --- | --- | --- | --- | --- |"
    for row in providers().values():
        for model in row.models:
            yield f"| `{row.id}/{model}` | {_known(row.knows(model))} |"


def _known(facts: ModelFacts) -> str:
    context = f"{facts.context_tokens:,}" if facts.context_tokens else "unknown"
    if facts.price is None:
        return f"{context} | unknown | unknown | unknown"
    prices = (facts.price.input, facts.price.cached, facts.price.output)
    return " | ".join([context, *("unknown" if price is None else f"{price:g}" for price in prices)])


def _environment(keys: Iterable[Key]) -> Iterator[str]:
    yield "## Environment names\n"
    yield "Every setting that is no secret can be given as `GOAT_SECTION__KEY`, such as `GOAT_AITS__BUDGET_BASE=2500`."
    yield "These have a short name or aliases:\n"
    yield "| name | aliases | setting |"
    yield "| --- | --- | --- |"
    for key in keys:
        first, *others = key.environment
        if others or key.secret:
            yield f"| `{first}` | {', '.join(f'`{name}`' for name in others)} | `{key.label}` |"
    for name, meaning in PROCESS_NAMES.items():
        yield f"| `{name}` | | {meaning} |"
    yield f"\nReserved, reported when set, and read by nothing yet: {_reserved()}."


def _reserved() -> str:
    kinds = sorted({name.removeprefix("GOAT_AGENT_") for name in NOT_READ_YET if name.startswith("GOAT_AGENT_CODER_")})
    return ", ".join(f"`GOAT_AGENT_{{ROLE}}_{kind.removeprefix('CODER_')}`" for kind in kinds)
