"""Diagnose: which resource a Run waits for, the proof, and what each remedy would give.

Takes a RunView, returns a Diagnosis record of codes and quantities. Does not print, does not read logs, does
not know a language. Version 1 decides from what logs print; causes inside a data wait (storage, metadata,
cores, settings) need recorded samples and come with the record stage.
"""

from __future__ import annotations

from weighbridge.diagnose.diagnose import diagnose

__all__ = ["diagnose"]
