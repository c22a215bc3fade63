"""A reader's way: list, session, a ghost, the model's view, the inspector, a deep link. And hostile content that stays inert in a real browser."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.make_session import PROMPTS, TITLE

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def workspace(transactional_db: None) -> Any:
    from tests.compaction.stage import a_workspace, member_of
    from webapp.models import Role

    made = a_workspace("scriptorium")
    member_of(made, "quill", Role.OPERATOR)
    return made


@pytest.fixture
def signed_in(strict_page: Any, live_server: Any, workspace: Any, aside: Callable[..., Any]) -> Any:
    """The list of sessions, after a one-time link."""
    from webapp.auth import issue_link
    from webapp.models import User

    secret = aside(lambda: issue_link(User.objects.get(username="quill")))
    strict_page.goto(f"{live_server.url}/sign-in/{secret}")
    return strict_page


def test_list_session_ghost_models_view_inspector_deep_link(
    workspace: Any, signed_in: Any, live_server: Any, aside: Callable[..., Any], tmp_path: Path
) -> None:
    from tests.compaction.stage import taken_in

    session = aside(taken_in, workspace, tmp_path, entries=300)
    page = signed_in
    page.reload()

    # The list, by keys alone.
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.textContent").strip() == TITLE
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/s/{session.pk}*")

    # The chart comes after the page, with as many bars as there are steps and the agent's thresholds beside it.
    page.locator("#chart svg.tokens line.limit.compaction").first.wait_for(state="attached")
    assert page.locator("#chart svg.tokens .flag").count() == 1
    page.locator(".chart-table summary").click()
    page.locator(".chart-table tbody tr").first.wait_for()
    page.locator(".chart-table summary").click()

    # A ghost, opened in place and closed again.
    page.locator(".band .ghost-link", has_text="Read").first.click()
    ghost = page.locator(".band.open")
    ghost.get_by_text("not sent to the model").wait_for()
    ghost.get_by_text(PROMPTS[0]).first.wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Close"
    page.keyboard.press("Enter")
    page.locator(".band:not(.open)").first.wait_for()
    assert page.locator(".band.open").count() == 0

    # An entry chosen by its number: the inspector says first whether the model still has it.
    line = page.locator("#entries .entry.call").first
    seq = line.get_attribute("data-seq")
    line.locator(".no").click()
    page.locator(f"#inspector [data-inspected='{seq}']").wait_for()
    assert "In context: yes" in page.locator("#inspector .box").first.inner_text()
    assert page.url.endswith(f"?at=e{seq}")

    # Opened with o, and the next one with j.
    page.keyboard.press("o")
    page.locator(f"#e{seq}.open .pieces").wait_for()
    page.keyboard.press("j")
    following = page.locator("#entries .entry[aria-current]")
    assert following.get_attribute("data-seq") != seq
    page.keyboard.press("?")
    page.locator("#help[open]").wait_for()
    page.keyboard.press("Escape")

    # The same session as the model sees it, and back by the browser's own button.
    page.keyboard.press("m")
    page.wait_for_url("**view=model*")
    page.locator(".model .item").first.wait_for()
    assert "summary" in page.locator(".model .item").first.inner_text().lower()
    page.go_back()
    page.locator("#entries .entry").first.wait_for()

    # A deep link into what is no longer sent opens its ghost at that entry.
    page.goto(f"{live_server.url}/s/{session.pk}?at=e12")
    marked = page.locator(".band.open .entry[aria-current]")
    marked.wait_for()
    assert marked.evaluate(
        "entry => { const box = entry.getBoundingClientRect(); return box.top > 0 && box.bottom < innerHeight; }"
    )
    page.locator("#inspector .box", has_text="In context: no").wait_for()


def test_a_long_session_keeps_its_first_page_small_and_comes_as_one_scrolls(
    workspace: Any, signed_in: Any, live_server: Any, aside: Callable[..., Any]
) -> None:
    from tests import factories as make

    session = aside(lambda: make.a_session(workspace, make.conversation(3000)))
    page = signed_in
    page.goto(f"{live_server.url}/s/{session.pk}")
    page.locator("#chart svg.tokens").wait_for(state="attached")

    # Rows of the first window only, whatever comes: the table behind the chart is the one other long thing.
    first = page.locator("#entries .entry").count()
    assert first <= 80
    assert page.evaluate("document.querySelectorAll('*').length") <= 1500
    page.locator("[data-edge='after']").scroll_into_view_if_needed()
    page.locator("#entries .entry").nth(first).wait_for()
    seqs = page.locator("#entries .entry").evaluate_all("all => all.map(one => Number(one.dataset.seq))")
    assert seqs == sorted(set(seqs))

    # Earlier entries come in above without moving the reader.
    page.goto(f"{live_server.url}/s/{session.pk}?at=e1500")
    marked = page.locator(".entry[aria-current]")
    page.locator("#chart svg.tokens").wait_for(state="attached")
    page.wait_for_load_state("networkidle")
    before = marked.evaluate("entry => entry.getBoundingClientRect().top")
    top = int(page.locator("#entries .entry").first.get_attribute("data-seq") or 0)
    page.locator("[data-edge='before']").evaluate("link => link.click()")
    page.wait_for_function("top => Number(document.querySelector('#entries .entry').dataset.seq) < top", arg=top)
    assert abs(marked.evaluate("entry => entry.getBoundingClientRect().top") - before) <= 2


HOSTILE = (
    '"><script>document.title="owned"</script><img src=x onerror=\'document.title="owned"\'>'
    '<svg onload=\'document.title="owned"\'></svg> [x](javascript:document.title="owned") ![p](http://elsewhere.example/p.png)'
    "\u202egnp.exe \x1b]8;;http://elsewhere.example\x07link\x1b[31m <style>*{display:none}</style> <iframe src=http://elsewhere.example></iframe>"
)


def test_hostile_content_is_inert_in_a_browser(
    workspace: Any, signed_in: Any, live_server: Any, aside: Callable[..., Any]
) -> None:
    """`strict_page` fails this for any dialog, console error or request to another host."""
    from tests import factories as make

    rows = [
        make.prompt(HOSTILE),
        make.message(HOSTILE),
        make.reasoning(HOSTILE),
        make.call("c1", "Bash", command=HOSTILE),
        make.result("c1", HOSTILE + "\n" + "A" * 1_000_000, failed=True),
        make.call("c2", "Edit", file_path=HOSTILE, old_string=HOSTILE, new_string="b"),
        make.result("c2", HOSTILE),
        make.malformed(HOSTILE, HOSTILE),
    ]
    session = aside(
        lambda: make.a_session(
            workspace,
            [*rows, *make.conversation(60)],
            title=HOSTILE,
            project=HOSTILE,
            branch=HOSTILE,
            problems=[HOSTILE],
        )
    )
    aside(lambda: make.compacted(session, 8, 20, summary=HOSTILE))
    page = signed_in
    page.reload()
    assert page.title() == "Sessions · Palimpsest"
    page.goto(f"{live_server.url}/s/{session.pk}")
    for toggle in page.locator("#entries .toggle").all()[:4]:
        toggle.click()
    page.locator("#entries .open .pieces").first.wait_for()
    page.locator(".band .ghost-link").first.click()
    page.locator(".band.open").wait_for()
    page.goto(f"{live_server.url}/s/{session.pk}?view=model")
    page.locator(".model .item").first.wait_for()
    for seq in (1, 4, 7):
        page.goto(f"{live_server.url}/s/{session.pk}/e/{seq}")
        page.goto(f"{live_server.url}/s/{session.pk}/inspect/{seq}")

    assert "owned" not in page.title() or "document.title" in page.title()
    assert page.locator("img, iframe, style, main script").count() == 0
    assert not re.search("\u202e", page.locator("body").inner_text())


@pytest.mark.parametrize("width", [1440, 390])
def test_nothing_stands_out_sideways(
    workspace: Any, signed_in: Any, live_server: Any, aside: Callable[..., Any], tmp_path: Path, width: int
) -> None:
    from tests.compaction.stage import taken_in

    session = aside(taken_in, workspace, tmp_path, entries=120)
    page = signed_in
    page.set_viewport_size({"width": width, "height": 844})
    for address in (
        "/",
        f"/s/{session.pk}",
        f"/s/{session.pk}?view=model",
        f"/s/{session.pk}/inspect/3",
        f"/s/{session.pk}/steps",
    ):
        page.goto(live_server.url + address)
        page.locator("main").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address


def test_readable_without_script(
    workspace: Any, signed_in: Any, live_server: Any, aside: Callable[..., Any], tmp_path: Path
) -> None:
    from tests.compaction.stage import taken_in

    session = aside(taken_in, workspace, tmp_path, entries=300)
    state = signed_in.context.storage_state()
    context = signed_in.context.browser.new_context(java_script_enabled=False, storage_state=state)
    page = context.new_page()
    try:
        page.goto(f"{live_server.url}/s/{session.pk}")
        page.get_by_role("link", name="Read").first.click()
        assert page.locator(".band.open").get_by_text("not sent to the model").count() == 1
        page.go_back()
        page.get_by_role("link", name="Later entries").first.click()
        assert page.locator(".entry").count() > 0
        page.locator(".entry .toggle").first.click()
        assert page.locator(".entry.open").count() == 1
        page.get_by_role("link", name="In its place").click()
        assert page.locator(".entry[aria-current]").count() == 1
    finally:
        context.close()
