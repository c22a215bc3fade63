"""Summaries of the part of a session that a version folds: their shape, and how to write one without a model."""
