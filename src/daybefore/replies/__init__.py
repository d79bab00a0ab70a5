"""From a model's text to a prediction."""

PARSER_VERSION = 3
"""Raise it when a change makes the parser read a reply otherwise; it is stored with each
prediction."""
