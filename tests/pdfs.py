"""Small PDFs, byte by byte: one page with words and a red rectangle; with a password; with no pages."""

from __future__ import annotations


def pdf(*, box: str = "0 0 595 842", pages: int = 1, locked: bool = False) -> bytes:
    """A PDF of `pages` pages (0 or 1). `locked`: encrypted for a password that nobody knows."""
    drawing = b"BT /F1 48 Tf 60 700 Td (Ledger) Tj ET 0.8 0.1 0.1 rg 60 500 300 120 re f"
    kids = b"[3 0 R]" if pages else b"[]"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /JavaScript /JS (app.alert\\(1\\)) >> >>",
        b"<< /Type /Pages /Kids " + kids + b" /Count %d >>" % pages,
        b"<< /Type /Page /Parent 2 0 R /MediaBox [%s] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
        % box.encode(),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawing), drawing),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for n, body in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (n, body)
    table = b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    lock = b""
    if locked:
        lock = b" /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >> /ID [<00> <00>]" % (
            b"11" * 32,
            b"22" * 32,
        )
    return b"%s%strailer << /Size 6 /Root 1 0 R%s >>\nstartxref\n%d\n%%%%EOF" % (out, table, lock, len(out))
