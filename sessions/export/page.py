"""A session as one HTML file that needs nothing else: no script, styles in its head, pictures from the stored bytes alone.

Its own policy forbids it to load or run anything, whatever was said in the session.
"""

from __future__ import annotations

import base64

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from sessions.entries import PartKind
from sessions.export.choosing import Piece
from sessions.export.forms import About, Taken, call_said, marks, media_said, redaction_said, said, speaker
from sessions.heldmedia import Held
from sessions.render import markdown

SET = 60_000  # characters of a message that are set as Markdown; a longer one stands as it is
_STYLE = """
:root{color-scheme:light dark;--paper:light-dark(#FBF8F1,#191714);--leaf:light-dark(#F5F0E4,#211E1A);--ghost:light-dark(#F1EADB,#262219);
--ink:light-dark(#221E18,#EBE4D6);--ink-2:light-dark(#544C3F,#C2B8A6);--ghost-ink:light-dark(#665D4C,#ACA08B);--rule:light-dark(#DFD7C5,#37322A);
--rule-2:light-dark(#B3A78D,#6A6152);--accent:light-dark(#2B4A87,#A6BBE8);--signal:light-dark(#94301D,#E99C86)}
*{box-sizing:border-box}body{margin:0 auto;max-width:1000px;padding:24px;background:var(--paper);color:var(--ink);
font:400 13px/20px system-ui,-apple-system,"Segoe UI","Noto Sans",sans-serif;overflow-wrap:anywhere}
h1{font:400 23px/30px "Iowan Old Style",Palatino,P052,Georgia,serif;margin:0 0 8px}dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;
color:var(--ink-2)}dt{color:var(--ink-2)}dd{margin:0}article{border-top:1px solid var(--rule);padding:8px 0}h2{font:400 12px/18px inherit;font-size:12px;
color:var(--ink-2);margin:0 0 4px}h2 b{font-weight:600;color:var(--ink)}h2 a{color:var(--accent);text-decoration:none}
.person{font:400 15px/23px "Iowan Old Style",Palatino,P052,Georgia,serif}pre{font:12px/18px ui-monospace,Menlo,Consolas,"Noto Sans Mono",monospace;
white-space:pre-wrap;background:var(--leaf);padding:8px 12px;margin:4px 0}code{font:12px/18px ui-monospace,Menlo,Consolas,"Noto Sans Mono",monospace}
article.ghost{background:var(--ghost);color:var(--ghost-ink);border:dashed var(--rule-2);border-width:1px 0;padding:8px 12px}
article.ghost h2,article.ghost h2 b{color:var(--ghost-ink)}article.ghost pre{background:none;padding:0}.wrong{color:var(--signal)}
img{display:block;max-width:100%;max-height:480px;margin:4px 0}summary{cursor:pointer;color:var(--ink-2)}footer{border-top:1px solid var(--rule-2);
margin-top:16px;padding-top:12px;color:var(--ink-2)}.inserted{border-left:3px solid var(--accent);padding-left:12px}
@media print{:root{color-scheme:light}}
"""


class Page:
    """One article an entry, ghosts on their own ground."""

    def head(self, about: About) -> str:
        facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in about.facts)
        secrets = "redacted; the end of this file says which kinds" if about.redacted else "not redacted"
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
            'form-action \'none\'">\n<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">\n'
            f"<title>{escape(about.title)}</title><style>{_STYLE}</style></head>\n<body><header><h1>{escape(about.title)}</h1><dl>{facts}"
            f"<dt>entries</dt><dd>{escape(about.selection)}</dd><dt>secrets</dt><dd>{secrets}</dd></dl></header>\n<main>\n"
        )

    def piece(self, piece: Piece) -> str:
        classes = " ".join(
            name
            for name, held in (("ghost", piece.ghost), ("inserted", piece.seq is None), (f"k-{piece.kind}", True))
            if held
        )
        number = (
            format_html('<a href="#e{}">{}</a> · ', piece.seq, piece.seq) if piece.seq is not None else SafeString("")
        )
        anchor = format_html(' id="e{}"', piece.seq) if piece.seq is not None else ""
        beside = "".join(f" · {escape(one)}" for one in marks(piece))
        body = "".join(self._parts(piece))
        pictures = "".join(_picture(held) for held in piece.images)
        return f'<article{anchor} class="{escape(classes)}"><h2>{number}<b>{escape(speaker(piece))}</b>{beside}</h2>{body}{pictures}</article>\n'

    def _parts(self, piece: Piece) -> list[str]:
        out: list[str] = []
        for part in piece.parts:
            match part.kind:
                case PartKind.TOOL_CALL:
                    name, text, _language = call_said(part)
                    out.append(format_html("<p><b>{}</b></p><pre>{}</pre>", name, text))
                case PartKind.TOOL_RESULT:
                    wrong = SafeString(' class="wrong"') if part.is_error else ""
                    out.append(format_html("<pre{}>{}</pre>", wrong, said(part)))
                case PartKind.REASONING:
                    out.append(format_html("<details><summary>Reasoning</summary>{}</details>", _set(said(part))))
                case PartKind.MEDIA:
                    if not piece.images:
                        out.append(format_html("<p><i>{}</i></p>", media_said(part)))
                case PartKind.TEXT if piece.kind in ("prompt", "command"):
                    out.append(format_html('<div class="person">{}</div>', _set(said(part))))
                case PartKind.TEXT:
                    out.append(_set(said(part)))
                case _:
                    out.append(format_html("<pre>{}</pre>", said(part)))
        return out

    def foot(self, about: About, taken: Taken) -> str:
        return f"</main>\n<footer><p>{taken.entries:,} entries. {escape(redaction_said(about, taken))}</p></footer>\n</body></html>\n"


def _set(text: str) -> SafeString:
    return markdown(text) if len(text) <= SET else format_html("<pre>{}</pre>", text)


def _picture(held: Held) -> SafeString:
    """An image of a kind told by its own first bytes."""
    data = base64.b64encode(held.data).decode()
    return mark_safe(f'<img alt="" src="data:{held.kind};base64,{data}">')  # noqa: S308 -- a kind of our list, and letters of base64
