"""Names that are used where vulture cannot see it, one expression each."""
