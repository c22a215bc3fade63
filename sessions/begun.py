"""What every process of a crew needs, read once for all of them: they are made as copies of the one that has read this."""

import django

django.setup()

from sessions import ingesting  # noqa: E402, F401 -- models are there only now
from sessions.meters.tokens import ENCODING, OLDER, count  # noqa: E402

for encoding in (ENCODING, OLDER):
    count(["The vocabulary."], encoding=encoding)
