"""The reader in a browser: a long session stays light, every way through it goes by keys alone, and nothing in it comes to life."""

import gzip
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.test_reading_walk import HOSTILE, signed_in, workspace

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

__all__ = ["signed_in", "workspace"]  # fixtures of that module, used here too

NODES = 1_500  # elements of the first page
BYTES = 200_000  # of everything the first page loads
HELD = 2_600  # elements while one scrolls, however long the session

ORDER = "() => { const all = [...document.querySelectorAll('#entries .entry')].map(one => Number(one.dataset.seq)); return all.every((seq, n) => !n || seq > all[n - 1]) && [all[0], all[all.length - 1]]; }"
COUNT = "document.querySelectorAll('*').length"


def test_a_session_of_fifteen_thousand_entries_is_light_at_first_and_while_one_scrolls(
    workspace: Any, signed_in: Any, live_server: Any, aside: Callable[..., Any]
) -> None:
    from tests import factories as make

    session = aside(lambda: make.a_session(workspace, make.conversation(15_000)))
    page = signed_in
    page.goto(f"{live_server.url}/s/{session.pk}")
    page.locator("#map svg").wait_for(state="attached")
    page.locator("#chart svg.tokens").wait_for(state="attached")
    assert page.evaluate(COUNT) <= NODES
    # As a server sends it, compressed: this one gives files as they are.
    loaded = page.evaluate("[location.href, ...performance.getEntriesByType('resource').map(one => one.name)]")
    bodies = [page.context.request.get(address).body() for address in loaded if not address.startswith("data:")]
    assert sum(len(gzip.compress(body)) for body in bodies) <= BYTES

    # Far down, in leaps as a person makes them with the map; then back up through what was pruned.
    most = 0
    for seq in (4_000, 9_000, 14_990):
        page.evaluate("at => palimpsest.go(at)", f"e{seq}")
        page.locator(
            f"#entries .entry[aria-current][data-seq='{seq}'], #entries .entry[data-results~='{seq}']"
        ).first.wait_for()
        most = max(most, page.evaluate(COUNT))
    page.wait_for_function("() => !document.querySelector('[data-edge=after]')")
    for _ in range(14):
        start = int(page.locator("#entries .entry").first.get_attribute("data-seq") or 0)
        page.locator("[data-edge='before']").evaluate("link => link.scrollIntoView()")
        page.wait_for_function(
            "start => Number(document.querySelector('#entries .entry').dataset.seq) < start", arg=start
        )
        most = max(most, page.evaluate(COUNT))
    assert page.evaluate(ORDER)
    assert page.locator("#entries > .gone").count() >= 1
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    page.locator("#entries .entry[data-seq='14999'], #entries .entry[data-results~='14999']").first.wait_for()
    assert page.evaluate(ORDER)
    assert max(most, page.evaluate(COUNT)) <= HELD


def test_every_way_through_a_session_goes_by_keys(
    workspace: Any, signed_in: Any, live_server: Any, aside: Callable[..., Any]
) -> None:
    from tests import factories as make

    rows = [
        make.prompt("Find the needle"),
        make.call("c1", "Grep", pattern="hay"),
        make.result("c1", "src/hay.py\nsrc/needle.py"),
        make.call("c2", "Edit", file_path="/w/src/hay.py", old_string="a = 1", new_string="a = 2"),
        make.result("c2", "The file has been updated"),
        *make.conversation(60),
        make.prompt("And now the tests"),
        make.call("c3", "Bash", command="pytest"),
        make.result("c3", "Exit code 1\nneedle not found", failed=True),
        make.message("It failed."),
    ]
    session = aside(lambda: make.a_session(workspace, rows))
    aside(lambda: make.compacted(session, 0, 5))
    page = signed_in
    page.goto(f"{live_server.url}/s/{session.pk}")
    press = page.keyboard.press

    def visit(path: str) -> None:
        """Go on once what is under way has come: a request cut off by leaving would count as an error."""
        page.wait_for_load_state("networkidle")
        page.goto(live_server.url + path)

    current = page.locator("#entries [aria-current='true'].entry")

    # Finding reaches into a ghost and opens it; the brackets go on to what a closed row hides, and open that.
    press("f")
    page.keyboard.type("needle")
    press("Enter")
    page.locator(".band.open .entry[aria-current][data-seq='0']").wait_for()
    assert page.locator("#outline [data-hit]").count() == 3
    press("Escape")
    page.locator("#find-bar").wait_for(state="hidden")
    press("f")
    press("Enter")
    page.locator("#outline [data-found]").wait_for()
    page.locator("#find-place", has_text="1 / 3").wait_for()
    page.evaluate("document.activeElement.blur()")
    press("]")
    press("]")
    page.locator("#e66.open").wait_for()
    press("f")
    press("Escape")

    # From error to error, and to the compaction.
    visit(f"/s/{session.pk}")
    press("]")
    page.locator("#entries .entry[aria-current][data-results~='67']").wait_for()
    press("{")
    page.wait_for_function("() => !document.querySelector('#entries [aria-current][data-results~=\"67\"]')")

    # Ways beside the transcript, one after the other.
    for words in ("Turns", "Files", "Errors", "Marks"):
        press("w")
        page.locator("[data-tab][aria-current]", has_text=words).wait_for()
    page.locator("#outline .marks-list").wait_for()

    # A bookmark and a comment, and both in the list.
    visit(f"/s/{session.pk}?at=e68")
    current.wait_for()
    press("s")
    page.locator("#inspector [data-bookmark][aria-pressed='true']").wait_for()
    press("C")
    page.keyboard.type("Look at this one")
    press("Tab")
    press("Enter")
    page.locator("#inspector .comment-text", has_text="Look at this one").wait_for()
    page.locator("[data-tab]", has_text="Marks").focus()
    press("Enter")
    page.locator("#outline .marks-list", has_text="Look at this one").wait_for()

    # Narrowing by the form alone; the address says so, and the back button takes it away.
    page.locator("#main").focus()
    press("N")
    page.locator(".narrow[open] .narrow-form select[name=only]").focus()
    press("e")
    page.wait_for_url("**only=errors*")
    page.locator(".chips .chip", has_text="errors").wait_for()
    assert page.locator("#entries .entry").evaluate_all("all => all.map(one => one.dataset.seq)") == ["66"]
    # The form stays open under the hands of who fills it in: the next key goes to the same control.
    assert page.evaluate("document.activeElement.id") == "narrow-only"
    assert page.locator(".narrow[open] summary b").text_content() == "1"
    page.go_back()
    page.locator("#entries .entry[data-seq='68']").wait_for()
    assert "only=errors" not in page.url

    # Opened, laid side by side, folded away; the help names all of it.
    visit(f"/s/{session.pk}?at=e3")
    page.locator(".entry[aria-current][data-seq='3']").wait_for()
    press("o")
    page.locator("#e3.open .diff").wait_for()
    press("d")
    page.locator("#e3.open .diff.split").wait_for()
    press("o")
    page.locator("#e3:not(.open)").wait_for()
    press("?")
    page.locator("#help[open]", has_text="find in this session").wait_for()
    press("Escape")


EVIL_PATH = "/w/src/p\u0430yload\u202e.py"  # a Cyrillic а, and an override


def test_a_hostile_transcript_stays_text_in_every_form(
    workspace: Any, signed_in: Any, live_server: Any, aside: Callable[..., Any]
) -> None:
    """`strict_page` fails this for any dialog, console error, failed answer, or request to another host."""
    from tests import factories as make

    evil = HOSTILE
    tools = [
        ("Bash", {"command": evil, "description": evil}, "Exit code 1\n" + evil),
        ("Read", {"file_path": EVIL_PATH}, f"     1→{evil}\n     2→x"),
        ("Write", {"file_path": "/w/x.html", "content": evil}, "File created successfully"),
        ("Edit", {"file_path": EVIL_PATH, "old_string": evil, "new_string": evil + "!"}, evil),
        ("Grep", {"pattern": evil}, f"src/a.py:3:{evil}"),
        ("TodoWrite", {"todos": [{"content": evil, "status": "in_progress"}]}, "ok"),
        ("WebFetch", {"url": "javascript:document.title='owned'", "prompt": evil}, evil),
        ("Task", {"description": evil, "prompt": evil}, evil),
        ("mcp__srv__do", {"x": evil}, '{"html": "<script>document.title=1</script>"}'),
        ("AskUserQuestion", {"questions": [{"question": evil, "header": evil, "options": [{"label": evil}]}]}, evil),
        ("apply_patch", {"input": f"*** Begin Patch\n*** Update File: {evil}\n@@\n-{evil}\n+x\n*** End Patch"}, evil),
    ]
    rows = [make.prompt(evil), make.message(evil + "\n" + "B" * 1_000_000), make.reasoning(evil)]
    for n, (tool, given, said) in enumerate(tools):
        rows += [make.call(f"h{n}", tool, **given), make.result(f"h{n}", said, failed=tool == "Bash")]
    rows.append(make.malformed(evil, evil))
    session = aside(lambda: make.a_session(workspace, rows, title=evil))
    page = signed_in
    page.goto(f"{live_server.url}/s/{session.pk}")
    title = page.title()
    seqs = page.locator("#entries .entry:has(.toggle)").evaluate_all("all => all.map(one => one.dataset.seq)")
    assert len(seqs) >= len(tools)
    for seq in seqs:
        page.locator(f"#e{seq} .toggle").focus()
        page.keyboard.press("Enter")
        page.locator(f"#e{seq}.open .pieces").wait_for(state="attached")
    page.locator("#entries .tag", has_text="mixes alphabets").first.wait_for()
    for way in ("find?q=script", "errors", "marks", "map", "narrow", "turns", "files", "files/one?path=/w/x.html"):
        page.goto(f"{live_server.url}/s/{session.pk}/{way}")
        assert (
            page.locator(
                "main script, iframe, style, object, embed, main img, main svg:not(.glyph, .map, .share)"
            ).count()
            == 0
        ), way
    page.goto(f"{live_server.url}/s/{session.pk}")
    assert page.title() == title
    hrefs = page.locator("main a[href]").evaluate_all("all => all.map(one => one.href)")
    assert not [href for href in hrefs if not re.match(r"https?:", href)]
    assert "\u202e" not in page.locator("body").inner_text()
