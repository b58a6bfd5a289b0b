"""The kernel: a Load held against a Machine gives a Fit; shares give bounds.

Pure functions over records and loaded tables: memory, step time, loader, collectives, storage, and the two
identities (occupied time, step time). No input or output, no clock, no randomness, no sentence. What it
cannot derive from what it was given is None, with an interval where one can be stated.
"""
