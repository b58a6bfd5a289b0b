"""The kernel: pure functions over records and plain numbers, no input or output, no language.

Version 1 holds the two identities, data wait, and the bounds of counterfactuals. Memory, operators,
collectives and calibration join it with the estimate stage. Imports ``schema``, ``units``, ``errors`` only.
"""
