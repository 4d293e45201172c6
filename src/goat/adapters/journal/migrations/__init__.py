"""The Alembic scripts. A script states its tables in full: it must do the same in ten years."""
