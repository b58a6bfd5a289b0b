"""Patterns for log lines with bounded numbers in them.

``<count>`` and ``<number>`` stand for captured figures of at most fifteen digits: a longer one is damage that
Python would refuse to convert, or that would not fit into the record.
"""

from __future__ import annotations

import re


def pattern(text: bytes) -> re.Pattern[bytes]:
    counted = text.replace(b"<count>", rb"(\d{1,15})")
    return re.compile(counted.replace(b"<number>", rb"(\d{1,15}(?:\.\d{1,20})?)"))
