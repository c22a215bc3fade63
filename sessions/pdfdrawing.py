"""Draws the first page of a PDF: bytes in by standard input, a PNG out by standard output. Run as a program, by `pdfpage` alone.

It imports nothing of this project. Before it touches a byte of the PDF it gives up what it does not need: memory beyond a bound, more
than a few seconds of CPU time, writing files, opening more than the library itself.
"""

from __future__ import annotations

import struct
import sys
import zlib

LONGEST = 480  # pixels of the longer side
MEMORY = 768 << 20  # bytes of address space; reading a page takes a fraction of it
CPU = 6  # seconds
LOCKED, UNREADABLE = 3, 4  # exit codes
SIGNATURE = b"\x89PNG\r\n\x1a\n"

_PASSWORD = 4  # FPDF_ERR_PASSWORD


def bind() -> None:
    """Set the bounds, where the system has them."""
    try:
        import resource  # noqa: PLC0415 -- not on every system
    except ImportError:
        return
    bounds = [
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_CPU, CPU),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 32),
        (resource.RLIMIT_CORE, 0),
    ]
    for which, most in bounds:
        hard = resource.getrlimit(which)[1]
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (bound, bound))


def png(width: int, height: int, rows: list[bytes]) -> bytes:
    """RGB rows of three bytes a pixel as a PNG."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(b"".join(b"\x00" + row for row in rows), 6)
    return SIGNATURE + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def draw(data: bytes) -> bytes:
    """The picture of the first page, on white."""
    import pypdfium2  # noqa: PLC0415 -- behind the bounds

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise SystemExit(LOCKED if getattr(error, "err_code", None) == _PASSWORD else UNREADABLE) from error
    try:
        page = document[0]
        longer = max(page.get_size())
        if not 1 <= longer < 1e6:
            raise SystemExit(UNREADABLE)
        # Forms and annotations are left as they are stored: nothing in them acts.
        bitmap = page.render(scale=(LONGEST - 1) / longer, rev_byteorder=True, may_draw_forms=False)
    except pypdfium2.PdfiumError as error:
        raise SystemExit(UNREADABLE) from error
    width, height, stride, n = bitmap.width, bitmap.height, bitmap.stride, bitmap.n_channels
    held = bytes(bitmap.buffer)
    lines = [held[y * stride : y * stride + width * n] for y in range(height)]
    if n == 4:
        lines = [_three(line, width) for line in lines]
    return png(width, height, lines)


def _three(line: bytes, width: int) -> bytes:
    out = bytearray(width * 3)
    for channel in range(3):
        out[channel::3] = line[channel::4]
    return bytes(out)


def main() -> None:
    bind()
    sys.stdout.buffer.write(draw(sys.stdin.buffer.read()))


if __name__ == "__main__":
    main()
