"""Bounds of a protobuf message before it is parsed: an empty part takes two bytes in a file, and a hundred in memory.

References
----------
Protocol Buffers, *Encoding*: a field is a tag, which has its number and its wire type, and a value.
"""

from __future__ import annotations

import re
from typing import Any

from hedgerow.errors import HypothesisError

MOST_PARTS = 100_000
"""The most messages within a message."""
_MOST_FIELDS = 400_000
_DEEPEST = 12
_RUN = re.compile(rb"(?:\x40[\x80-\xff]{0,9}[\x00-\x7f])*(?:\x3d[\x00-\xff]{4})*")  # fields 8 and 7: ints, floats
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5


def check_parts(data: bytes, descriptor: Any) -> None:
    """Check that a message of this descriptor has a bounded number of parts, before it is parsed."""
    waiting = [(0, len(data), descriptor, 0)]
    parts = fields = 0
    within = dict[str, dict[int, Any]]()
    while waiting:
        at, end, kind, depth = waiting.pop()
        parts += 1
        if kind.full_name not in within:
            found = kind.fields_by_number
            within[kind.full_name] = {number: one.message_type for number, one in found.items() if one.message_type}
        messages = within[kind.full_name]
        runs = kind.name == "AttributeProto"
        while at < end:
            at = _after_runs(data, at, end) if runs else at
            fields += 1
            if len(waiting) + parts > MOST_PARTS or fields > _MOST_FIELDS or depth > _DEEPEST:
                raise HypothesisError(f"expected an ONNX file of at most {MOST_PARTS:,} parts, got a larger one.")
            if at == end:
                break
            tag, at = _varint(data, at, end)
            start, at = _value(data, at, end, tag & 7)
            if tag & 7 == _BYTES and tag >> 3 in messages:
                waiting.append((start, at, messages[tag >> 3], depth + 1))


def _after_runs(data: bytes, at: int, end: int) -> int:
    found = _RUN.match(data, at, end)
    return at if found is None else found.end()


def _value(data: bytes, at: int, end: int, wire_type: int) -> tuple[int, int]:
    """Return where a field's value starts and ends."""
    if wire_type == _VARINT:
        return at, _varint(data, at, end)[1]
    if wire_type == _BYTES:
        length, at = _varint(data, at, end)
    elif wire_type in (_EIGHT_BYTES, _FOUR_BYTES):
        length = 8 if wire_type == _EIGHT_BYTES else 4
    else:
        raise unreadable()
    if at + length > end:
        raise unreadable()
    return at, at + length


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    found = 0
    for shift in range(0, 70, 7):
        if at + shift // 7 >= end:
            break
        byte = data[at + shift // 7]
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return found, at + shift // 7 + 1
    raise unreadable()


def unreadable() -> HypothesisError:
    """Return the error of bytes that are no ONNX file."""
    return HypothesisError("expected a hypothesis as an ONNX file, got bytes that are truncated or none.")
