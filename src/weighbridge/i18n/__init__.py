"""Sentences: one catalogue, both languages under each code.

``messages/*.json`` hold {code: {"en": ..., "zh": ...}}, one file per room. ``speak`` turns a code and its
parameters into a sentence. Nothing here decides anything; only ``report``, ``web`` and ``cli`` call it.

Placeholders name their unit as the format, ``{wait:seconds}``, ``{share:share}``, ``{peak:bytes}``; the
units are those of ``units.FORMATTERS``. A parameter may be a plain number in that unit or a Quantity, which
brings its own unit and prints its interval. None prints as "not measured" / the Chinese equivalent.
"""

from __future__ import annotations

from weighbridge.i18n.speak import (
    LANGUAGES,
    Language,
    catalogue,
    choose_language,
    has,
    say_quantity,
    speak,
)

__all__ = ["LANGUAGES", "Language", "catalogue", "choose_language", "has", "say_quantity", "speak"]
