"""Measures on invented sessions of any size: what ingest, pages and previews cost here."""
