"""OTLP's protobuf form as its JSON form: the fields of traces and logs, by their numbers in the protocol's published definition.

Only what a reader needs to know is here: a tag says field and wire type, unknown fields are passed over, and whatever does not fit is
`Malformed`. Ids come out as hex, 64-bit numbers as text, bytes as base64, as OTLP/JSON has them.
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_DEEPEST = 100  # messages in one another


class Malformed(ValueError):
    """The bytes are no such message."""


type _Read = Callable[[int | bytes, int], Any]
type _Fields = Mapping[int, tuple[str, _Read, bool]]  # number → name in JSON, how it is read, whether there are several


def traces(data: bytes) -> dict[str, Any]:
    """An ExportTraceServiceRequest."""
    return _message(data, _TRACES, 0)


def logs(data: bytes) -> dict[str, Any]:
    """An ExportLogsServiceRequest."""
    return _message(data, _LOGS, 0)


def status(message: str, code: int = 3) -> bytes:
    """A google.rpc.Status, as the protocol answers an error (3: an invalid argument)."""
    text = message.encode()
    return b"\x08" + _varint(code) + b"\x12" + _varint(len(text)) + text


def _message(data: int | bytes, fields: _Fields, depth: int) -> dict[str, Any]:
    if isinstance(data, int) or depth > _DEEPEST:
        raise Malformed("a number where a message is expected, or messages too deep in one another")
    out: dict[str, Any] = {}
    for number, value in _pieces(data):
        if number not in fields:
            continue
        name, read, several = fields[number]
        if several:
            out.setdefault(name, []).append(read(value, depth + 1))
        else:
            out[name] = read(value, depth + 1)
    return out


def _pieces(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and what they hold: a number for varints, bytes for all else."""
    at = 0
    while at < len(data):
        tag, at = _number(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = _number(data, at)
            yield tag >> 3, value
            continue
        if kind == 2:
            size, at = _number(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise Malformed(f"an unknown wire type {kind}")
        if at + size > len(data):
            raise Malformed("it breaks off")
        yield tag >> 3, data[at : at + size]
        at += size


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Malformed("it breaks off, or a number has no end")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


# -- how values are read ---------------------------------------------------------------------------------------------


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise Malformed("a number where bytes are expected")
    return value


def _text(value: int | bytes, _: int) -> str:
    return _bytes(value).decode("utf-8", "replace")


def _hex(value: int | bytes, _: int) -> str:
    return _bytes(value).hex()


def _base64(value: int | bytes, _: int) -> str:
    return base64.b64encode(_bytes(value)).decode()


def _fixed(value: int | bytes, _: int) -> str:
    return str(int.from_bytes(_bytes(value), "little"))


def _int(value: int | bytes, _: int) -> int:
    if not isinstance(value, int):
        raise Malformed("bytes where a number is expected")
    return value


def _signed(value: int | bytes, depth: int) -> str:
    number = _int(value, depth) & (1 << 64) - 1
    return str(number - (1 << 64) if number >> 63 else number)


def _bool(value: int | bytes, depth: int) -> bool:
    return _int(value, depth) != 0


def _double(value: int | bytes, _: int) -> float | str:
    raw = _bytes(value)
    if len(raw) != 8:
        raise Malformed("a number of another length")
    number = float(struct.unpack("<d", raw)[0])
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _of(fields: _Fields) -> _Read:
    return lambda value, depth: _message(value, fields, depth)


def _any(value: int | bytes, depth: int) -> dict[str, Any]:
    return _message(value, _ANY, depth)


_PAIR: _Fields = {1: ("key", _text, False), 2: ("value", _any, False)}
_ANY: _Fields = {
    1: ("stringValue", _text, False),
    2: ("boolValue", _bool, False),
    3: ("intValue", _signed, False),
    4: ("doubleValue", _double, False),
    5: ("arrayValue", _of({1: ("values", _any, True)}), False),
    6: ("kvlistValue", _of({1: ("values", _of(_PAIR), True)}), False),
    7: ("bytesValue", _base64, False),
}
_RESOURCE: _Fields = {1: ("attributes", _of(_PAIR), True)}
_SCOPE: _Fields = {1: ("name", _text, False), 2: ("version", _text, False), 3: ("attributes", _of(_PAIR), True)}
_EVENT: _Fields = {
    1: ("timeUnixNano", _fixed, False),
    2: ("name", _text, False),
    3: ("attributes", _of(_PAIR), True),
}
_SPAN: _Fields = {
    1: ("traceId", _hex, False),
    2: ("spanId", _hex, False),
    4: ("parentSpanId", _hex, False),
    5: ("name", _text, False),
    6: ("kind", _int, False),
    7: ("startTimeUnixNano", _fixed, False),
    8: ("endTimeUnixNano", _fixed, False),
    9: ("attributes", _of(_PAIR), True),
    11: ("events", _of(_EVENT), True),
    15: ("status", _of({2: ("message", _text, False), 3: ("code", _int, False)}), False),
}
_LOG: _Fields = {
    1: ("timeUnixNano", _fixed, False),
    2: ("severityNumber", _int, False),
    3: ("severityText", _text, False),
    5: ("body", _any, False),
    6: ("attributes", _of(_PAIR), True),
    9: ("traceId", _hex, False),
    10: ("spanId", _hex, False),
    11: ("observedTimeUnixNano", _fixed, False),
    12: ("eventName", _text, False),
}
_TRACES: _Fields = {
    1: (
        "resourceSpans",
        _of(
            {
                1: ("resource", _of(_RESOURCE), False),
                2: ("scopeSpans", _of({1: ("scope", _of(_SCOPE), False), 2: ("spans", _of(_SPAN), True)}), True),
            }
        ),
        True,
    )
}
_LOGS: _Fields = {
    1: (
        "resourceLogs",
        _of(
            {
                1: ("resource", _of(_RESOURCE), False),
                2: ("scopeLogs", _of({1: ("scope", _of(_SCOPE), False), 2: ("logRecords", _of(_LOG), True)}), True),
            }
        ),
        True,
    )
}
