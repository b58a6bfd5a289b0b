"""Readers: training logs and sample files in, records out; one file per format.

A reader recognises a file (``sniff``) and streams it as column batches, events and facts (``read``) with
bounded memory. It normalises units and meanings (seconds, bytes, one row per logged window of optimizer
steps) and says where every row stands. It does not judge, does not join, does not print and does not write:
``importer`` does the writing, ``join`` puts files on one clock. Built-ins stand in ``table``.
"""
