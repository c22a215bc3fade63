"""Composition root: knows every other app, and none of them knows it."""

from webapp.celery import app as celery_app

__all__ = ["celery_app"]
