"""Settings from the environment; the defaults run on a checkout (docs: README, table of settings)."""

from pathlib import Path
from typing import Any

import django_stubs_ext
from django.utils.csp import CSP
from django.utils.translation import gettext_lazy as _

from webapp import env
from webapp.embedded import broker, data_dir, vocabularies

# Django's classes take type parameters only in its stubs; this makes `models.Field[A, B]` hold at run time too. Here,
# because the settings are read before any model is.
django_stubs_ext.monkeypatch()

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = data_dir.locate()

DEBUG = env.flag("PALIMPSEST_DEBUG", default=False)
# A server shared by several machines names its key; alone, one is made once and kept in the data folder.
SECRET_KEY = env.secret("PALIMPSEST_SECRET_KEY") or data_dir.secret_key(DATA_DIR)
ALLOWED_HOSTS = env.words("PALIMPSEST_HOSTS", ("localhost", "127.0.0.1", "[::1]"))
CSRF_TRUSTED_ORIGINS = env.words("PALIMPSEST_ORIGINS")

# Local mode: one machine, one person, loopback only. Pages may then name paths and write into the agents' folders.
LOCAL_MODE = env.flag("PALIMPSEST_LOCAL", default=False)

INSTALLED_APPS = [
    "webapp.apps.WebappConfig",
    "sessions.apps.SessionsConfig",
    "compaction.apps.CompactionConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django_htmx",
    "ninja",
]

MIDDLEWARE = [
    "webapp.streaming.StreamingMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "webapp.compressing.CompressionMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "webapp.auth.SignedInMiddleware",
    "webapp.workspaces.WorkspaceMiddleware",
]

ROOT_URLCONF = "webapp.urls"
ASGI_APPLICATION = "webapp.asgi.application"

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.csp",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "webapp.workspaces.workspace",
            ],
        },
    },
]

# The pool belongs to the web process: its threads come and go with the requests. A worker's child, a command and the
# watcher hold one connection each, for which a pool would only be a second owner.
WEB_PROCESS = env.text("PALIMPSEST_PROCESS") == "web"
DATABASES = {
    "default": env.database(
        "DATABASE_URL",
        pool={"min_size": 1, "max_size": env.number("PALIMPSEST_POOL_SIZE", default=10), "timeout": 5}
        if WEB_PROCESS
        else None,
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "webapp.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "sign-in"

# No inline script or style anywhere: a page shows what an agent's session contains, and nothing of it may run.
SECURE_CSP = {
    "default-src": [CSP.SELF],
    "script-src": [CSP.SELF, CSP.NONCE],
    "style-src": [CSP.SELF, CSP.NONCE],
    "img-src": [CSP.SELF, "data:"],
    "connect-src": [CSP.SELF],
    "object-src": [CSP.NONE],
    "base-uri": [CSP.SELF],
    "form-action": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
HTTPS = env.flag("PALIMPSEST_HTTPS", default=False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_NAME = "palimpsest_session"
CSRF_COOKIE_NAME = "palimpsest_csrf"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None

LANGUAGE_CODE = env.text("PALIMPSEST_LANGUAGE", "en")
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = env.text("PALIMPSEST_TIME_ZONE", "UTC")

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Only for a web server of one's own in front; without it WhiteNoise serves from the checkout.
STATIC_ROOT = env.text("PALIMPSEST_STATIC_ROOT")
# There is no build step, and no collecting before the first start.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

NINJA_PAGINATION_MAX_LIMIT = 500

# Sources from elsewhere: bytes that one may have. A body waits on disk, not in memory, until it is taken in.
UPLOAD_LIMIT = max(1, env.number("PALIMPSEST_UPLOAD_LIMIT", default=2 << 30))
DATA_UPLOAD_MAX_NUMBER_FILES = 1000
# Files that are taken in at a time, where much comes at once; 0: as many as there are cores, up to eight.
INGEST_PROCESSES = max(0, env.number("PALIMPSEST_INGEST_PROCESSES", default=0))
# Rows of the intake log that a workspace keeps.
INTAKE_KEPT = max(1, env.number("PALIMPSEST_INTAKE_KEPT", default=5000))

# Celery: results are rows, so there is no result backend. A message counts as done only after its task has ended, and
# comes back when its worker dies; so tasks are idempotent, and the broker waits longer than the longest of them.
BROKER = broker.address(env.secret("CELERY_BROKER_URL"), env.secret("DATABASE_URL"))
CELERY_BROKER_URL = BROKER.url
# Of the variable CELERY_BROKER_URL Celery itself takes notice before it asks here; of these two settings it does not.
CELERY_BROKER_READ_URL = CELERY_BROKER_WRITE_URL = BROKER.url
CELERY_BROKER_TRANSPORT_OPTIONS = BROKER.transport_options
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_TIMEOUT = 5
CELERY_TASK_SERIALIZER = "json"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_TIME_LIMIT = broker.TASK_TIME_LIMIT
CELERY_TASK_SOFT_TIME_LIMIT = broker.TASK_SOFT_TIME_LIMIT
CELERY_TASK_DEFAULT_QUEUE = "ingest"
CELERY_TASK_ROUTES = {"compaction.*": {"queue": "compaction"}, "sessions.*": {"queue": "ingest"}}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_TIMEZONE = "UTC"
# How often the worker of a run says that it lives; after five times this without a word the run is another's.
RUN_HEARTBEAT_SECONDS = max(1, env.number("PALIMPSEST_RUN_HEARTBEAT", default=3))
# How often a run is tried whose worker dies in the middle. Once: it then fails with that reason, and the head stays.
RUN_ATTEMPTS = max(1, env.number("PALIMPSEST_RUN_ATTEMPTS", default=1))

# Seconds after which a run is stopped and says so, and after which its process is ended: below the broker's own patience.
RUN_SOFT_LIMIT = max(1, min(env.number("PALIMPSEST_RUN_LIMIT", default=15 * 60), broker.TASK_SOFT_TIME_LIMIT))
RUN_HARD_LIMIT = RUN_SOFT_LIMIT + 60

# Models that may write summaries, the default first, as provider:name; without one only the extractive summariser is there.
# Agents' own variables (ANTHROPIC_API_KEY and the like) are not read: a key is used here only where it was given for this.
_PROVIDERS = ("anthropic", "openai", "gemini", "compatible")
LLM_MODELS = env.words("PALIMPSEST_LLM_MODELS")
LLM_FALLBACK = env.text("PALIMPSEST_LLM_FALLBACK")
LLM_KEYS = {name: env.secret(f"PALIMPSEST_{name.upper()}_KEY") for name in _PROVIDERS}
LLM_URLS = {name: env.text(f"PALIMPSEST_{name.upper()}_URL") for name in _PROVIDERS}
# Seconds for one answer; how often a request is sent again; the longest wait a provider may ask for before it counts as away.
LLM_TIMEOUT = max(1, env.number("PALIMPSEST_LLM_TIMEOUT", default=180))
LLM_RETRIES = max(0, env.number("PALIMPSEST_LLM_RETRIES", default=4))
LLM_LONGEST_WAIT = max(0, env.number("PALIMPSEST_LLM_LONGEST_WAIT", default=90))
# Whether the memory of sessions that are at work is kept up to date; without a model it costs a little of a worker's time.
SESSION_MEMORY = env.flag("PALIMPSEST_SESSION_MEMORY", default=True)
# Folders below which files may be read from this machine's disk, to be brought back into a context: none unless they are named.
FILE_ROOTS = env.words("PALIMPSEST_FILE_ROOTS")
# Whether a hook may be a command of this machine.
HOOK_COMMANDS = env.flag("PALIMPSEST_HOOK_COMMANDS", default=False)

# Whether written sessions may be put into the folders in which agents of this machine list theirs.
INSTALL_SESSIONS = env.flag("PALIMPSEST_INSTALL", default=False)

# tiktoken reads this variable itself when it loads a vocabulary; without it, it would try to download one.
vocabularies.point_tiktoken_at(vocabularies.folder(DATA_DIR))

LOG_LEVEL = env.text("PALIMPSEST_LOG_LEVEL", "INFO")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {name: {"level": LOG_LEVEL} for name in ("webapp", "sessions", "compaction")},
}
TEST_RUNNER = "django.test.runner.DiscoverRunner"
