"""No page has anything that axe-core calls a violation, in both schemes and both widths; none is forgotten, and each speaks Chinese."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.allpages import NO_PAGES, PAGES, PARTS, names, stage
from tests.e2e.test_reading_walk import signed_in, workspace

__all__ = ["signed_in", "workspace"]  # fixtures of that module, used here too

WIDE, NARROW = {"width": 1440, "height": 1000}, {"width": 390, "height": 844}
CONTRAST = "{resultTypes: ['violations'], runOnly: ['color-contrast']}"
ALL = "{resultTypes: ['violations']}"


def test_every_address_is_a_page_or_is_said_to_be_none() -> None:
    known = set(PAGES) | set(PARTS) | NO_PAGES
    assert not (set(PAGES) & NO_PAGES)
    assert set(names()) == known


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_no_page_has_a_violation(
    workspace: Any, signed_in: Any, live_server: Any, aside: Callable[..., Any], tmp_path: Path
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    given = aside(stage, workspace, tmp_path)
    page, script, found = signed_in, Axe().axe_script, []

    def ask(where: str, options: str) -> None:
        for one in page.evaluate(f"async () => (await axe.run(document, {options})).violations"):
            for node in one["nodes"][:3]:
                found.append(f"{where}: {one['id']}: {node['target']}: {node['html'][:160]}")

    for name, address in PAGES.items():
        page.set_viewport_size(WIDE)
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        page.goto(live_server.url + address.format(**given), wait_until="load")
        page.evaluate("() => Promise.all([...document.images].map(one => one.decode().catch(() => null)))")
        page.evaluate(script)
        ask(f"{name}, wide, light", ALL)
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        ask(f"{name}, wide, dark", CONTRAST)
        page.set_viewport_size(NARROW)
        ask(f"{name}, narrow, dark", ALL)
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        ask(f"{name}, narrow, light", CONTRAST)
        page.wait_for_load_state("networkidle")  # what is cut off by leaving would count as an error
    assert not found, "\n".join(found)


@pytest.mark.django_db
def test_main_pages_speak_chinese_and_the_switch_is_remembered(tmp_path: Path) -> None:
    from django.test import Client

    from tests.compaction.stage import a_workspace, member_of
    from webapp.models import Role

    workspace = a_workspace("scriptorium")
    quill = member_of(workspace, "quill", Role.ADMIN)
    given = stage(workspace, tmp_path)
    client = Client(headers={"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.5"})
    assert "登录" in client.get("/sign-in").content.decode()
    client.force_login(quill)
    for name, word in {
        "sessions:list": "智能体",
        "sessions:session": "会话记录",
        "compaction:compact": "遮蔽",
        "compaction:compare": "策略",
        "compaction:run": "运行",
        "compaction:rollback": "回滚",
        "sessions:abandoned": "放弃的目标",
        "sessions:search": "残影",
        "sessions:meter": "压缩",
        "settings": "设置",
    }.items():
        html = client.get(PAGES[name].format(**given)).content.decode()
        assert '<html lang="zh-hans">' in html, name
        assert word in re.sub(r"<nav.*?</nav>", "", html, flags=re.DOTALL), name
    assert client.post("/i18n/setlang/", {"language": "en", "next": "/"}).status_code == 302
    assert '<html lang="en">' in client.get("/").content.decode()
