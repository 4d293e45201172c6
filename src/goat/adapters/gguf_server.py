"""The process in which a GGUF file runs: llama.cpp's own server, on a free port of this machine.

Standard input brings one line of JSON, `path`, `context_tokens`, `threads` and `key`; standard output answers with one,
`address` or `error`. The process ends when standard input does, so it never outlives its GOAT, however that ends.

It is a process of its own because loading a model, and taking it down, hold Python's lock from the first moment to the
last: every conversation would stand still.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

BATCH_TOKENS = 512
"""How much of a prompt is read at a time: a caller who left is noticed after each batch."""

PING_SECONDS = 1
"""How often the server looks whether its caller is still there."""


def main() -> None:
    """Load the model, tell the address, and serve until standard input ends."""
    wanted = json.loads(sys.stdin.readline())
    try:
        server = _serve(wanted)
    except ImportError as missing:
        _tell({"error": str(missing), "missing": True})
    except RuntimeError as failure:
        _tell({"error": str(failure)})
    else:
        _tell({"address": server.listening_address})
        sys.stdin.read()
    sys.stderr.flush()
    os._exit(0)  # the library's own end can wait for calls that nobody wants any more


def _serve(wanted: dict[str, Any]) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = wanted["path"]
    params.n_ctx = wanted["context_tokens"]
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = BATCH_TOKENS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = wanted["threads"]
    params.api_keys = [wanted["key"]]
    params.cors_origins = "https://goat.invalid"  # no page in a browser is a caller
    params.ui = params.endpoint_slots = params.endpoint_props = False
    params.sse_ping_interval = PING_SECONDS
    params.verbosity = 1
    return xllamacpp.Server(params)


def _tell(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
