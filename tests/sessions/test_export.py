"""Files to take away: what they hold, what is taken out of them, and that nothing in them runs."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from django.core.management import call_command
from hypothesis import given
from hypothesis import strategies as st

from sessions.entries import Kind, Part, PartKind, Role
from sessions.export.choosing import Wanted, pieces, spans_of
from sessions.export.making import export
from sessions.export.secrets import Redaction
from sessions.filters import Narrowed
from sessions.ranges import Ranges
from sessions.versions import Refused
from tests.factories import Row, a_session, call, compacted, message, prompt, reasoning, result

# Put together here, so that no scanner of this file finds them.
GITHUB = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
SLACK = "xoxb-" + "263594206564-2343594206564-FGqddMF8t08v8N7Oq4i57vs1"
KEY = (
    "-----BEGIN RSA "
    "PRIVATE KEY-----\n"
    + "MIIEpAIBAAKCAQEA1c7+9z5Pad7OejecsQ0bu3aumSZZ4dYBlyuR1V2AbPlYQK3p\n" * 3
    + "-----END RSA PRIVATE KEY-----"
)
PASSWORD = "hunter2xYz99"
SECRETS = (GITHUB, SLACK, PASSWORD, "Tr0ub4dor-3xyz", "wJalrXUtnFEMIzzK7MDENG")

HOSTILE = (
    '<script>alert(1)</script><img src="http://elsewhere.example/x.png" onerror="alert(2)"><svg onload=alert(3)>'
    "[a](javascript:alert(4)) ![b](http://elsewhere.example/y.png) <style>*{display:none}</style></pre></article></main>"
    "<iframe src=//elsewhere.example></iframe> \u202egnp.exe \x1b[31mred\x1b[0m <!-- ``` ~~~ -->"
)


@pytest.fixture
def workspace(db):
    from webapp.models import Workspace

    return Workspace.objects.create(name="Scriptorium", slug="scriptorium")


def written(session, **more) -> str:
    return b"".join(export(session, Wanted(**more))).decode()


def leaky(workspace):
    return a_session(
        workspace,
        [
            prompt(f"Use {GITHUB} please. 内存 before it."),
            call("c1", "Bash", command=f"SLACK_TOKEN={SLACK} psql postgres://quill:{PASSWORD}@db.example:5432/prod"),
            result(
                "c1",
                f'password = "Tr0ub4dor-3xyz"\n{KEY}',
                exit_code=0,
                note=f"Authorization: Bearer {'wJalrXUtnFEMIzzK7MDENG'}",
            ),
            message("Done. The key is `[your-api-key]`; password = os.environ['PASSWORD']."),
        ],
        title=f"Deploy with {GITHUB}",
    )


@pytest.mark.parametrize("form", ["md", "html", "json"])
def test_secrets_are_redacted_everywhere_and_counted(workspace, form):
    text = written(leaky(workspace), form=form)
    for secret in (*SECRETS, "MIIEpAIBAAKCAQEA1c7"):
        assert secret not in text
    assert "github-pat" in text
    assert "private-key" in text
    assert "password-in-address" in text
    assert "os.environ" in text  # what only names a secret is none
    assert "内存 before it" in text
    if form == "json":
        said = json.loads(text)["redaction"]
        assert said["on"] is True
        assert said["total"] == sum(said["kinds"].values()) >= 6
    else:
        assert "redacted in this file" in text


def test_redaction_switched_off_says_so_and_leaves_all(workspace):
    session = leaky(workspace)
    text = written(session, form="md", redact=False)
    assert all(secret in text for secret in (GITHUB, SLACK, PASSWORD))
    assert "not redacted" in text
    assert json.loads(written(session, form="json", redact=False))["redaction"] == {
        "on": False,
        "total": 0,
        "kinds": {},
    }


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_token_is_found_in_any_text_and_the_rest_stays(before, after):
    redaction = Redaction()
    text = f"{before} {GITHUB} {after}"
    assert GITHUB not in redaction.text(text)
    assert redaction.total >= 1


def test_ordinary_text_stays_as_it_is():
    redaction = Redaction()
    text = "def token(self) -> str: ...\nsecret_sauce: 'yes'\nhttp://localhost:8000/a@b\nTOKENS=4096\ncommit 3f786850e387550fdab836ed7e6dc881de23001b\n"
    assert redaction.text(text) == text


class Found(HTMLParser):
    """The tags and addresses of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.handlers: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            if name.startswith("on"):
                self.handlers.append(name)
            if name in ("src", "href", "srcset", "action", "data"):
                self.addresses.append(value or "")


def hostile(workspace):
    return a_session(
        workspace,
        [
            prompt(HOSTILE), reasoning(HOSTILE), message(HOSTILE), call("c", "<b>Tool</b>", command=HOSTILE), result("c", HOSTILE),
            Row(Kind.SUMMARY, Role.USER, (Part(PartKind.OTHER, HOSTILE), Part(PartKind.MEDIA, HOSTILE, media_type=HOSTILE))),
        ],
        title=HOSTILE,
        project=HOSTILE,
        branch=HOSTILE,
    )  # fmt: skip


def test_hostile_content_stays_inert_in_html(workspace):
    text = written(hostile(workspace), form="html")
    page = Found()
    page.feed(text)
    assert not page.tags & {"script", "iframe", "svg", "object", "embed", "form", "base", "link", "img"}
    assert page.handlers == []
    assert all(address.startswith(("#e", "http")) for address in page.addresses)
    assert text.count("<style>") == 1
    assert "default-src 'none'" in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert text.count("<article") == 6 == text.count("</article>")


def test_hostile_content_has_no_tags_in_markdown(workspace):
    text = written(hostile(workspace), form="md")
    outside = re.sub(r"(?ms)^(`{3,})[a-z]*\n.*?^\1$", "", text)
    assert not re.search(r"<(?=[a-zA-Z/!])", outside)
    assert "\u202e" not in text


def test_ranges_filters_ghosts_and_contexts(workspace):
    session = a_session(workspace, [message(f"entry {n}") if n % 3 else prompt(f"entry {n}") for n in range(12)])
    version = compacted(session, 2, 6, "What went before.")
    session.native_head = version
    session.save()
    rows = json.loads(written(session, form="json"))["entries"]
    assert [row["seq"] for row in rows] == list(range(12))
    assert [row["seq"] for row in rows if row["ghost"]] == [2, 3, 4, 5]
    assert [row["seq"] for row in json.loads(written(session, form="json", entries="1-3, 10-"))["entries"]] == [
        1,
        2,
        3,
        10,
        11,
    ]
    narrowed = json.loads(written(session, form="json", narrowed=Narrowed(role="person")))["entries"]
    assert [row["seq"] for row in narrowed] == [0, 3, 6, 9]
    context = json.loads(written(session, form="json", context=True))["entries"]
    assert [row["seq"] for row in context] == [0, 1, None, *range(6, 12)]
    assert "What went before." in written(session, form="md", context=True)
    assert "not sent to the model" in written(session, form="md")


@pytest.mark.parametrize(
    ("text", "spans"),
    [("", None), ("5", ((5, 6),)), ("10-20", ((10, 21),)), ("-3", ((0, 4),)), ("1,2,7–8", ((1, 3), (7, 9)))],
)
def test_entries_in_words(text, spans):
    assert spans_of(text) == (None if spans is None else Ranges(spans))


@pytest.mark.parametrize("text", ["x", "1;2", "e5", "-", "1-2-3"])
def test_entries_that_mean_nothing_are_refused(text):
    with pytest.raises(Refused):
        spans_of(text)


def test_it_streams(workspace):
    session = a_session(workspace, [message("words " * 400) for _ in range(300)])
    blocks = export(session, Wanted("html"))
    sizes = [len(block) for block in blocks]
    assert len(sizes) > 8
    assert max(sizes) < 200_000


def test_a_fence_holds_what_has_fences(workspace):
    session = a_session(workspace, [result("c", "before\n````\n# not a heading\n````\nafter")])
    assert "\n`````\nbefore" in written(session, form="md")


def test_pieces_read_by_blocks_are_all_there(workspace):
    session = a_session(workspace, [message(str(n)) for n in range(450)])
    assert [piece.seq for piece in pieces(session, Wanted())] == list(range(450))


# -- who may ------------------------------------------------------------------------------------------------------------


def member(client, workspace, django_user_model, role):
    from webapp.models import Membership

    user = django_user_model.objects.create_user(role)
    Membership.objects.create(workspace=workspace, user=user, role=role)
    client.force_login(user)
    return client


def test_the_page_offers_what_may_be_had_and_the_file_comes_as_a_download(client, workspace, django_user_model):
    session = leaky(workspace)
    reader = member(client, workspace, django_user_model, "viewer")
    page = reader.get(f"/s/{session.pk}/export").content.decode()
    assert 'value="0"' not in page
    answer = reader.get(f"/s/{session.pk}/export/file", {"format": "html"})
    assert answer["Content-Disposition"].startswith("attachment")
    assert GITHUB not in b"".join(answer.streaming_content).decode()
    assert reader.get(f"/s/{session.pk}/export/file", {"redact": "0"}).status_code == 403
    assert reader.get(f"/api/sessions/{session.pk}/export", {"redact": "false"}).status_code == 403
    assert reader.get(f"/s/{session.pk}/export/file", {"entries": "nonsense"}).status_code == 409
    assert b"".join(reader.get(f"/api/sessions/{session.pk}/export", {"format": "json"}).streaming_content).startswith(
        b"{"
    )


def test_an_operator_may_leave_secrets_in(client, workspace, django_user_model):
    session = leaky(workspace)
    operator = member(client, workspace, django_user_model, "operator")
    assert 'value="0"' in operator.get(f"/s/{session.pk}/export").content.decode()
    answer = operator.get(f"/s/{session.pk}/export/file", {"redact": "0"})
    assert GITHUB in b"".join(answer.streaming_content).decode()


def test_a_stranger_gets_nothing(client, workspace, django_user_model):
    from webapp.models import Workspace

    session = leaky(workspace)
    stranger = member(client, Workspace.objects.create(name="Other", slug="other"), django_user_model, "admin")
    assert stranger.get(f"/s/{session.pk}/export/file").status_code == 404
    assert stranger.get(f"/api/sessions/{session.pk}/export").status_code == 404


def test_the_command_writes_a_new_file_and_no_other(workspace, tmp_path, capsys):
    session = leaky(workspace)
    out = tmp_path / "session.md"
    call_command("export", str(session.pk), "--entries", "0-1", "--out", str(out), "--json")
    assert json.loads(capsys.readouterr().out)["bytes"] == out.stat().st_size
    assert "## 0 · Person" in out.read_text()
    with pytest.raises(Exception, match="exists already"):
        call_command("export", str(session.pk), "--out", str(out))
