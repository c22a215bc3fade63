"""What a good model would answer."""

from compaction.plan import Section
from compaction.summary.template import TITLES, render


def nine(words: str = "The importer streams now.") -> str:
    """A summary in its nine sections."""
    body = render([Section(title, ((f"{words} ({title})", ()),)) for title in TITLES])
    return body[body.index("## 1.") :]
