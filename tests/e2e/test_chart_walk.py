"""The token chart under a reader's hands: move, click, keys, zoom, brush, as if, and back from the transcript."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F
from playwright.sync_api import expect

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
    from webapp.auth import issue_link
    from webapp.models import User

    secret = aside(lambda: issue_link(User.objects.get(username="quill")))
    strict_page.goto(f"{live_server.url}/sign-in/{secret}")
    return strict_page


@pytest.fixture
def session(workspace: Any, aside: Callable[..., Any]) -> Any:
    """630 entries, 150 steps in 30 turns; the first hundred entries folded by the agent."""
    from tests import factories as make

    def made() -> Any:
        found = make.a_session(workspace, make.conversation(630))
        make.compacted(found, 0, 100)
        # As large as sessions are, so that the thresholds lie within the chart.
        found.steps.update(cache_read=F("n") * 600 + 40_000)
        return found

    return aside(made)


def place(page: Any, step: int) -> tuple[float, float]:
    """Where a step's bar stands on the screen."""
    x = page.evaluate(
        """step => {
            const svg = document.querySelector("#chart svg.tokens"), clip = svg.querySelector("clipPath rect");
            const plot = document.querySelector("[data-plot]");
            const said = document.querySelector("[data-range]").textContent.match(/[\\d,]+/g).map((n) => Number(n.replace(",", "")));
            const [from, to] = said.length > 1 ? said : [1, said[0]];
            const left = Number(clip.getAttribute("x")), wide = Number(clip.getAttribute("width"));
            return plot.getBoundingClientRect().left + left + (step - from + 0.5) * wide / (to - from + 1);
        }""",
        step,
    )
    box = page.locator("[data-plot]").bounding_box()
    return x, box["y"] + 120


def opened(page: Any, live_server: Any, session: Any, query: str = "") -> None:
    page.goto(f"{live_server.url}/s/{session.pk}{query}")
    page.locator("#chart svg.tokens .bars path").first.wait_for(state="attached")
    page.evaluate("scrollTo(0, 0)")


def levels(page: Any) -> list[str]:
    found: list[str] = page.locator("#chart line.limit.compaction").evaluate_all(
        "all => all.map((one) => one.getAttribute('y1') + ' ' + one.dataset.tokens)"
    )
    return found


def test_move_over_the_chart_click_a_bar_and_the_transcript_stands_at_that_step(
    signed_in: Any, live_server: Any, session: Any
) -> None:
    page = signed_in
    opened(page, live_server, session)

    # Moving over it shows the step's figures.
    page.mouse.move(*place(page, 90))
    tip = page.locator("#chart .tip")
    tip.wait_for(state="attached")
    assert "step 90, turn 18" in tip.text_content()
    assert "cache read 94,000" in tip.text_content()

    # A click takes the transcript there; the inspector has the five numbers right after it.
    page.mouse.click(*place(page, 90))
    page.locator("#entries .entry[aria-current][data-step='90']").wait_for()
    page.locator("#inspector", has_text="Right after step 90").wait_for()
    assert page.locator("#chart .cursor-words").text_content() == "step 90"
    assert page.locator("#entries .entry[aria-current]").evaluate(
        "entry => { const box = entry.getBoundingClientRect(); return box.top > 0 && box.bottom < innerHeight; }"
    )

    # And back: an entry of another step, chosen in the transcript, moves the cursor.
    page.locator("#entries .entry[data-step='93'] .no").first.click()
    page.locator("#chart .cursor-words", has_text="step 93").wait_for(state="attached")

    # Once it is out of sight, the entry at the top moves the cursor.
    page.mouse.move(700, 500)
    page.mouse.wheel(0, 2_500)
    expect(page.locator("#chart .cursor-words")).to_have_text(re.compile(r"step (9[7-9]|1\d\d)"))


def test_keys_move_the_cursor_and_say_where_it_is(signed_in: Any, live_server: Any, session: Any) -> None:
    page = signed_in
    opened(page, live_server, session)
    plot = page.locator("[data-plot]")
    plot.focus()

    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert (plot.get_attribute("role"), plot.get_attribute("aria-valuenow")) == ("slider", "2")
    assert "step 2, turn 1" in plot.get_attribute("aria-valuetext")
    page.keyboard.press("End")
    last = int(plot.get_attribute("aria-valuemax"))
    assert plot.get_attribute("aria-valuenow") == str(last)
    page.keyboard.press("PageUp")
    assert f"turn {(last - 1) // 5}" in plot.get_attribute("aria-valuetext")

    # Closer in around the cursor, on past the edge of what is shown, and out again.
    page.keyboard.press("+")
    page.locator("[data-range]", has_text="of 150").wait_for()
    page.locator("#chart svg.tokens:not(.moving)").wait_for()
    assert "zoom=" in page.evaluate("location.search")
    assert "steps" in page.locator("[data-chart-says]").text_content().lower()
    page.keyboard.press("Home")
    page.locator("[data-range]", has_text="steps 1 to").wait_for()
    page.keyboard.press("Escape")
    page.locator("[data-range]", has_text="all 150 steps").wait_for()

    # Enter takes the transcript to the step.
    page.locator("#chart svg.tokens:not(.moving)").wait_for()
    plot.focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.locator(f"#entries .entry[aria-current][data-step='{last}']").wait_for()


def test_drag_to_zoom_wheel_strip_and_back(signed_in: Any, live_server: Any, session: Any) -> None:
    page = signed_in
    opened(page, live_server, session)

    page.mouse.move(*place(page, 61))
    page.mouse.down()
    page.mouse.move(*place(page, 100), steps=5)
    assert page.locator("#chart .brush").count() == 1
    page.mouse.up()
    page.locator("[data-range]", has_text="of 150").wait_for()
    low, high = page.evaluate("new URLSearchParams(location.search).get('zoom').split('-').map(Number)")
    assert abs(low - 61) <= 1
    assert abs(high - 100) <= 1
    # Nothing was chosen by the drag.
    assert page.locator("#entries .entry[aria-current]").count() == 0

    # The strip shows where that is, and its window can be dragged.
    handle = page.locator("#chart .strip-window")
    box = handle.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 - 120, box["y"] + 10, steps=6)
    page.mouse.up()
    page.wait_for_url(re.compile(r"zoom=([1-4]\d|5[0-4])-"))

    # The wheel zooms only with ctrl, at the pointer; the page does not move.
    page.locator("#chart svg.tokens:not(.moving)").wait_for()
    before = page.locator("[data-range]").text_content()
    page.mouse.move(
        *place(page, page.evaluate("Number(new URLSearchParams(location.search).get('zoom').split('-')[0]) + 8"))
    )
    page.keyboard.down("Control")
    page.mouse.wheel(0, -240)
    page.keyboard.up("Control")
    expect(page.locator("[data-range]")).not_to_have_text(before)
    assert page.evaluate("scrollY") == 0

    # The zoom is a place: the address brings it back. A double click leads out.
    zoom = page.evaluate("new URLSearchParams(location.search).get('zoom')")
    page.reload()
    page.locator("[data-range]", has_text="of 150").wait_for()
    assert page.evaluate("new URLSearchParams(location.search).get('zoom')") == zoom
    page.locator("#chart svg.tokens:not(.moving)").wait_for()
    page.locator("[data-zoom='all']").click()
    page.locator("[data-range]", has_text="all 150 steps").wait_for()


def test_as_if_another_agent_the_lines_move(signed_in: Any, live_server: Any, session: Any) -> None:
    page = signed_in
    opened(page, live_server, session)
    own = levels(page)

    page.locator("#as-if select").select_option("codex-0.148")
    expect(page.locator("#chart line.limit.compaction")).not_to_have_attribute("data-tokens", own[0].split()[1])
    assert levels(page) != own
    page.locator("#chart text.compaction", has_text="Codex 0.148").wait_for(state="attached")
    assert "rule=codex-0.148" in page.url

    # Another window too, down to where it would have compacted; how often is said.
    page.locator("#as-if input[name=model]").fill("100,000")
    page.keyboard.press("Enter")
    page.locator("#chart line.limit.compaction[data-tokens='90000']").wait_for(state="attached")
    page.locator("#chart .would").first.wait_for(state="attached")
    assert "would have compacted" in page.locator("[data-as-if-says]").text_content()
    assert "model=100%2C000" in page.url

    # The address holds it, and one link leads back to its own rule.
    page.reload()
    page.locator("#chart .would").first.wait_for(state="attached")
    page.locator("[data-as-if-off]").click()
    expect(page.locator("#chart line.limit.compaction")).to_have_attribute("data-tokens", own[0].split()[1])
    assert "rule=" not in page.url
    assert page.locator("#chart .would").count() == 0


def test_it_can_be_taken_away_and_read_as_a_table(
    signed_in: Any, live_server: Any, session: Any, tmp_path: Path
) -> None:
    page = signed_in
    opened(page, live_server, session)

    for kind, begins in (("CSV", b"step,turn"), ("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as coming:
            page.locator("#chart .chart-acts").get_by_text(kind, exact=True).click()
        coming.value.save_as(tmp_path / kind)
        assert (tmp_path / kind).read_bytes().startswith(begins), kind
    assert len((tmp_path / "PNG").read_bytes()) > 20_000

    page.locator(".chart-table summary").click()
    page.locator(".chart-table tbody tr").nth(149).wait_for(state="attached")


def test_without_script_the_chart_is_a_picture_a_form_and_a_page(
    signed_in: Any, live_server: Any, session: Any
) -> None:
    state = signed_in.context.storage_state()
    context = signed_in.context.browser.new_context(java_script_enabled=False, storage_state=state)
    page = context.new_page()
    try:
        page.goto(f"{live_server.url}/s/{session.pk}")
        assert page.locator("#chart img.drawing").evaluate("img => img.complete && img.naturalWidth > 300")
        page.locator("#as-if select").select_option("codex-0.148")
        page.locator("#as-if button").click()
        assert "rule=codex-0.148" in page.url
        assert "rule=codex-0.148" in page.locator("#chart img.drawing").get_attribute("src")
        page.get_by_role("link", name="Chart with zoom and table").click()
        assert "Codex 0.148" in page.locator("svg.tokens").text_content()
        page.get_by_role("link", name="Second half").click()
        assert page.locator("table.steps tbody tr").count() == 75
        page.locator("table.steps a").first.click()
        assert page.locator(".entry[aria-current]").count() == 1
    finally:
        context.close()


def test_a_hundred_thousand_steps_are_moved_through_without_a_stutter(
    signed_in: Any, live_server: Any, session: Any, aside: Callable[..., Any]
) -> None:
    from tests.sessions.test_chart_views import many_steps

    aside(many_steps, session, 100_000)
    page = signed_in
    opened(page, live_server, session)
    page.locator("#chart .strip-window").wait_for(state="attached")
    assert page.evaluate("document.querySelectorAll('#chart *').length") < 600

    # What a gesture costs the page itself, frame by frame: drawing never waits for the server.
    longest = page.evaluate(
        """() => new Promise((done) => {
            const strip = document.querySelector("[data-strip]"), plot = document.querySelector("[data-plot]");
            const box = plot.getBoundingClientRect();
            let frames = 0, longest = 0;
            (function frame() {
                const began = performance.now();
                plot.dispatchEvent(new WheelEvent("wheel", { deltaY: frames < 20 ? -60 : 40, ctrlKey: true, clientX: box.left + 500, clientY: box.top + 90, cancelable: true, bubbles: true }));
                plot.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + 100 + frames * 9, clientY: box.top + 90, bubbles: true }));
                longest = Math.max(longest, performance.now() - began);
                if (++frames < 40) requestAnimationFrame(frame); else done(longest);
            })();
        })"""
    )
    assert longest < 100, "a frame of the gesture took longer than anyone overlooks"
    page.locator("#chart svg.tokens:not(.moving)").wait_for()
    page.locator("[data-range]", has_text="of 100,000").wait_for()
