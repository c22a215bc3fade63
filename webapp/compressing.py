"""Answers on the wire: pages, styles and scripts compressed; streams, images and files to take away as they are."""

from __future__ import annotations

from typing import Any, cast

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

_SMALLER = ("text/html", "text/css", "text/javascript", "application/javascript", "application/json", "image/svg+xml")


class CompressionMiddleware(GZipMiddleware):
    """Django's own, which pads each answer by a random length, for what gets smaller by it.

    A stream of a view is left alone: an event held back until a block is full is no event, and a source's bytes are compressed enough.
    """

    def process_response(self, request: HttpRequest, response: Any) -> HttpResponseBase:
        kind = response.headers.get("Content-Type", "").partition(";")[0]
        static = request.path.startswith(settings.STATIC_URL or "/static/")
        if kind not in _SMALLER or (response.streaming and not static):
            return cast("HttpResponseBase", response)
        compressed: HttpResponseBase = super().process_response(request, response)
        return compressed
