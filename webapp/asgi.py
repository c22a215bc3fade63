"""The web process's way in."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
# Read by the settings: only this process keeps a pool of connections.
os.environ["PALIMPSEST_PROCESS"] = "web"

application = get_asgi_application()
