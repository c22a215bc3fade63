"""The web process's way in."""

import os

from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.exceptions import ImproperlyConfigured

from webapp.bodies import LimitedBodies

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
# Read by the settings: only this process keeps a pool of connections.
os.environ["PALIMPSEST_PROCESS"] = "web"

application = LimitedBodies(get_asgi_application(), settings.UPLOAD_LIMIT)

if settings.DATABASES["default"]["ENGINE"] == "django.db.backends.dummy":
    raise ImproperlyConfigured(
        "DATABASE_URL is not set. `manage.py up` brings a database; a server of one's own needs it."
    )
