"""JSON in and out for records, by msgspec, with schema names and versions.

A document is ``{"schema": "weighbridge.<record>/<version>", ...fields}``. NaN and infinity become null.
Knows no files: see ``store`` and ``cli``.
"""

from __future__ import annotations

from weighbridge.codec.hash import stable_hash
from weighbridge.codec.json import decode, document, encode

__all__ = ["decode", "document", "encode", "stable_hash"]
