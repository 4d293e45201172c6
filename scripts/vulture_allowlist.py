"""Names that vulture cannot see in use, one a line. Checked by vulture, never run."""

raised  # the arguments of `__exit__`, which Python passes
trace
