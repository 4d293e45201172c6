"""One script a revision, named after it."""
