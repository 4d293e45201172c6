"""What every group of settings has in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator


def _as_names(value: object) -> object:
    """A list of TOML, or words with commas between them as an environment variable has them, as a tuple."""
    if isinstance(value, str):
        return tuple(word for part in value.split(",") if (word := part.strip()))
    return tuple(value) if isinstance(value, list) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_as_names)]


class Section(BaseModel):
    """A frozen group of settings. Unknown keys and contradictions are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)

    def contradictions(self) -> Iterator[str]:
        """Sentences about keys that do not fit together; none when all is well."""
        yield from ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        faults = list(self.contradictions())
        if faults:
            raise ValueError("\n".join(faults))
        return self
