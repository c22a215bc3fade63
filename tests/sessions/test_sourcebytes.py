"""Bytes to lines and out of compression: on 0x0A alone, whatever the blocks, with memory that does not grow."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from sessions import sourcebytes
from sessions.packing import compress, unpacked
from sessions.sourcebytes import split

dirt = st.lists(
    st.sampled_from([b"a", b"\n", b"\r\n", b"\x00", "\u2028\u0085".encode(), b"\xff", b"{}"]), max_size=40
).map(b"".join)


def cut(data: bytes, sizes: list[int]) -> list[bytes]:
    out, at = [], 0
    for size in sizes:
        out.append(data[at : at + size])
        at += size
    return [*out, data[at:]]


@given(dirt, st.lists(st.integers(0, 5)))
def test_lines_are_the_bytes_whatever_the_blocks(data: bytes, sizes: list[int]) -> None:
    found = list(split(cut(data, sizes)))
    assert b"".join(line.raw + (b"\n" if line.ended else b"") for line in found) == data
    assert all(b"\n" not in line.raw for line in found)
    assert [line.number for line in found] == list(range(1, len(found) + 1))
    at = 0
    for line in found:
        assert line.offset == at
        at += line.length


def test_a_line_too_long_passes_without_its_body(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(sourcebytes, "LONGEST", 10)
    data = b"short\n" + b"x" * 35 + b"\nnext\n" + b"y" * 11
    found = list(split(cut(data, [3, 9, 9, 9])))
    assert [(line.raw, line.beyond, line.length, line.ended) for line in found] == [
        (b"short", 0, 6, True),
        (b"", 35, 36, True),
        (b"next", 0, 5, True),
        (b"", 11, 11, False),
    ]


@given(st.lists(st.binary(max_size=200), max_size=4), st.lists(st.integers(0, 30)))
def test_frames_unpack_whatever_the_blocks(frames: list[bytes], sizes: list[int]) -> None:
    packed = b"".join(compress(frame) for frame in frames)
    assert b"".join(unpacked(cut(packed, sizes))) == b"".join(frames)


def test_a_bomb_unpacks_in_small_pieces() -> None:
    bomb = compress(b"\x00" * (64 << 20))
    assert max(len(piece) for piece in unpacked([bomb])) <= 1 << 20


def test_a_file_cut_off_in_the_middle_gives_what_can_be_had() -> None:
    whole = b"".join(b"line %d %s\n" % (n, hashlib.sha256(b"%d" % n).hexdigest().encode()) for n in range(30_000))
    packed = compress(whole)
    got = b"".join(unpacked([packed[: len(packed) // 2]]))
    assert len(got) > len(whole) // 4
    assert whole.startswith(got)
