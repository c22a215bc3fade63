"""Every address that answers a GET, once: as the page a person opens, or among those that are none. A test holds the list to the urls."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

S = "/s/{session}"
PAGES = {
    "sign-in": "/sign-in",
    "settings": "/settings",
    "people": "/settings/people",
    "sessions:list": "/",
    "sessions:take_in": "/take-in",
    "sessions:intake": "/intake",
    "sessions:watch": "/watched",
    "sessions:abandoned": "/abandoned?review=",
    "sessions:abandoned_row": "/abandoned/{goal}",
    "sessions:search": "/search?q=importer",
    "sessions:session": S + "?at=e{entry}",
    "sessions:entries": S + "/entries",
    "sessions:records": S + "/records?first=0&last=3",
    "sessions:entry": S + "/e/{entry}",
    "sessions:narrow": S + "/narrow",
    "sessions:find": S + "/find?q=importer",
    "sessions:errors": S + "/errors",
    "sessions:map": S + "/map",
    "sessions:marks": S + "/marks",
    "sessions:inspect": S + "/inspect/{entry}",
    "sessions:turns": S + "/turns",
    "sessions:turn": S + "/turns/1",
    "sessions:fold": S + "/folds/{fold}",
    "sessions:fold-figures": S + "/folds/figures",
    "sessions:meter": S + "/meter",
    "sessions:steps": S + "/steps",
    "sessions:cost": S + "/cost",
    "sessions:chart": S + "/chart",
    "sessions:goals": S + "/goals",
    "sessions:goals-since": S + "/goals/since",
    "sessions:goal": S + "/goal/1",
    "sessions:versions": S + "/versions",
    "sessions:version-goals": S + "/versions/1/goals",
    "sessions:fills": S + "/fills",
    "sessions:memory": S + "/memory",
    "sessions:context": S + "/context",
    "sessions:diff": S + "/diff",
    "sessions:since": S + "/since",
    "sessions:resume": S + "/resume",
    "sessions:export": S + "/export",
    "compaction:compact": S + "/compact?strategy=hybrid",
    "compaction:session_runs": S + "/runs",
    "compaction:run": S + "/runs/{run}",
    "compaction:compare": S + "/compare?now=1",
    "compaction:edit": S + "/edit",
    "compaction:touched": S + "/files",
    "compaction:touched_file": S + "/files/one?path={file}",
    "compaction:rollback": S + "/rollback?to=e{entry}",
    "compaction:session_memory": S + "/session-memory",
    "compaction:compare_all": "/compare",
    "compaction:runs": "/runs",
    "compaction:standing": "/runs/standing",
    "compaction:project_memory": "/memory",
}
PARTS = {
    "sessions:diff-entries": "a stretch of a difference, asked for with its ends",
    "sessions:insertion": "a text that was put in, opened in its row; the session page shows one",
    "sessions:lane": "a sub-agent's records, opened in their row",
}
NO_PAGES = {
    *("sign-in-link", "sign-out", "health", "set_language", "sessions:events", "sessions:session-events"),
    *("sessions:raw", "sessions:words", "sessions:media", "sessions:media-page", "sessions:nearest"),
    *("sessions:source", "sessions:steps-json"),
    *("sessions:steps-csv", "sessions:chart-svg", "sessions:abandoned_export", "sessions:resume-file"),
    *("sessions:search_waiting", "sessions:search_saved", "sessions:export-file"),
    *("sessions:abandoned_review_many", "sessions:abandoned_views", "sessions:abandoned_look"),
    *("sessions:abandoned_review", "sessions:bookmark", "sessions:comment", "sessions:uncomment"),
    *("sessions:goals-mark", "sessions:goal-cause", "sessions:undo", "sessions:redo", "sessions:head"),
    *("sessions:name-version", "sessions:restore", "sessions:pin", "sessions:resume-install", "sessions:reread"),
    *("compaction:draft", "compaction:cancel", "sessions:owner", "sessions:archived", "sessions:views"),
}


def names(resolver: Any = None, space: str = "") -> Iterator[str]:
    """Names of all addresses but the API's, with their namespaces."""
    for pattern in (resolver or get_resolver()).url_patterns:
        if isinstance(pattern, URLPattern) and pattern.name:
            yield space + pattern.name
        elif isinstance(pattern, URLResolver) and "ninja" not in str(pattern.app_name):
            yield from names(pattern, space + (f"{pattern.namespace}:" if pattern.namespace else ""))


def stage(workspace: Any, folder: Path) -> dict[str, str]:
    """Fill a workspace so that every page has something to show; give what the addresses name."""
    from compaction import runs
    from sessions.abandoning import settle
    from sessions.goalmarks import abandon, add
    from sessions.models_goals import Abandonment
    from tests.compaction.stage import taken_in

    workspace.memberships.update(role="admin")  # some pages are for admins alone
    session = taken_in(workspace, folder, entries=160)
    goal = add(session.pk, text="Map the file into memory").goal
    abandon(session.pk, path=goal.path, reason="The network mount cannot be mapped.")
    settle(workspace)
    run = runs.request(session.pk, strategy="hybrid")
    runs.execute(run.pk)
    calls = session.entries.filter(kind="tool_call").exclude(tool__in=("TodoWrite", "Bash")).order_by("-seq")
    return {
        "session": str(session.pk),
        "entry": str(calls.values_list("seq", flat=True)[0]),
        "fold": "1",
        "run": str(run.pk),
        "goal": str(Abandonment.objects.latest("pk").pk),
        "file": "/home/quill/ledgerd/importer/main.py",
    }
