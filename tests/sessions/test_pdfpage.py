"""The first page of a PDF as a picture: drawn within bounds, kept by its bytes, refused with a reason."""

import base64
import json
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from sessions import pdfdrawing, pdfpage
from sessions.heldmedia import size_of
from sessions.models import Session
from sessions.pdfpage import Drawn, Why, first_page
from tests.claude_lines import ClaudeLines
from tests.pdfs import pdf
from tests.sessions.test_views import member
from webapp.models import Role, Workspace


@pytest.fixture(autouse=True)
def kept(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path / "data"
    return tmp_path / "data" / "pages"


def pixels(png: bytes) -> set[bytes]:
    """The colours of a picture whose rows have no filter."""
    width, height = size_of(png, "image/png")
    assert width is not None
    assert height is not None
    body = zlib.decompress(png[png.index(b"IDAT") + 4 :])
    rows = [body[y * (3 * width + 1) + 1 : (y + 1) * (3 * width + 1)] for y in range(height)]
    return {row[x : x + 3] for row in rows for x in range(0, 3 * width, 3)}


def test_a_page_is_drawn_once_and_kept_by_its_bytes(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = first_page(pdf())

    assert drawn.png is not None
    width, height = size_of(drawn.png, "image/png")
    assert (width, height) in {(339, 479), (339, 480)}
    assert {b"\xff\xff\xff", bytes([204, 26, 26])} <= pixels(drawn.png)
    assert len(list(kept.iterdir())) == 1

    # Nothing is started for what is known.
    monkeypatch.setattr(sys, "executable", "/nowhere")
    assert first_page(pdf()) == drawn
    monkeypatch.setattr(pdfpage, "KEPT", 1)
    pdfpage._keep(kept / "another", drawn)
    assert [one.name for one in kept.iterdir()] == ["another"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (pdf(locked=True), Why.LOCKED),
        (pdf(pages=0), Why.UNREADABLE),
        (b"%PDF-1.7 and nothing of the kind", Why.UNREADABLE),
        (pdf(box="0 0 0 0")[:300], Why.UNREADABLE),
    ],
)
def test_what_cannot_be_drawn_says_why_and_is_not_tried_again(
    data: bytes, why: Why, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert first_page(data) == Drawn(why=why)

    monkeypatch.setattr(sys, "executable", "/nowhere")
    assert first_page(data) == Drawn(why=why)


def test_a_process_that_takes_too_long_is_ended_and_may_be_tried_again(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdfpage, "SECONDS", 0.0)

    assert first_page(pdf()) == Drawn(why=Why.BEYOND)
    assert not kept.exists()

    monkeypatch.setattr(pdfpage, "LARGEST", 10)
    assert first_page(pdf()) == Drawn(why=Why.LARGE)


@pytest.mark.parametrize(
    "deed",
    [f"bytearray({pdfdrawing.MEMORY} + 1)", "open(sys.argv[1], 'wb', buffering=0).write(b'x')", "[open('/dev/null') for _ in range(40)]"],
)  # fmt: skip
@pytest.mark.skipif(sys.platform != "linux", reason="the bounds differ by system")
def test_the_process_that_draws_is_bound(deed: str, tmp_path: Path) -> None:
    code = f"import runpy, sys; runpy.run_path({pdfdrawing.__file__!r})['bind'](); {deed}"

    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(tmp_path / "written")], capture_output=True, check=False
    )

    assert done.returncode != 0
    assert b"MemoryError" in done.stderr or b"OSError" in done.stderr or done.returncode < 0


@pytest.mark.django_db
def test_a_pdf_stands_in_the_transcript_with_its_first_page(tmp_path: Path) -> None:
    from sessions.ingest import take_file

    workspace = Workspace.objects.create(name="Scriptorium", slug="scriptorium")
    quill = member(workspace, "quill", Role.OPERATOR)
    lines = ClaudeLines()
    lines.prompt("Look")
    record = json.loads(bytes(lines).decode().splitlines()[0])
    record["message"]["content"] = [{"type": "text", "text": "Look"}] + [
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": base64.b64encode(data).decode()},
        }
        for data in (pdf(), pdf(locked=True), b"<svg onload='alert(1)'/>")
    ]
    path = tmp_path / "11111111-2222-4333-8444-555555555555.jsonl"
    path.write_text(json.dumps(record) + "\n")
    session = Session.objects.get(pk=take_file(workspace, path).session)

    page = quill.get(reverse("sessions:session", args=[session.pk])).content.decode()
    drawn, locked, strange = (
        quill.get(reverse("sessions:media-page", args=[session.pk, 0, n]), headers={"accept-language": language})
        for n, language in ((0, "en"), (1, "en"), (2, "zh-hans"))
    )

    assert page.count('class="first-page"') == 3
    assert (drawn["Content-Type"], locked["Content-Type"]) == ("image/png", "image/svg+xml")
    assert "password" in locked.content.decode()
    assert b"alert" not in strange.content
    assert b"password" not in strange.content
    for answer in (drawn, locked, strange):
        assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"
        assert answer["X-Content-Type-Options"] == "nosniff"
    assert quill.get(reverse("sessions:media-page", args=[session.pk, 0, 3])).status_code == 404
    elsewhere = member(Workspace.objects.create(name="Other", slug="other"), "stranger", Role.ADMIN)
    assert elsewhere.get(reverse("sessions:media-page", args=[session.pk, 0, 0])).status_code == 404
