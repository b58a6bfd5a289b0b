"""Records: frozen, slotted dataclasses, one small file each, standard library only.

What travels between rooms and what lies on disk is defined here and nowhere else. No behaviour beyond
checking a record's own invariants; no input or output (that is ``codec`` and ``store``).
"""
