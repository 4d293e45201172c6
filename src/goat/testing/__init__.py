"""Shipped doubles: what plugin authors and our own tests use in the place of models, time and broken backends."""
