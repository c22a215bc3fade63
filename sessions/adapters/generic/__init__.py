"""Formats of no one agent: messages as the model interfaces define them, traces of OpenTelemetry, ATIF, and declared mappings."""
