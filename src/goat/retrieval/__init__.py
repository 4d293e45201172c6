"""From a query to the episodes that answer it."""
