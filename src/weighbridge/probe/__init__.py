"""Probe: what this host is, and what it does now.

Runs the commands and reads the files that tell (each may be missing: unknown is None), and makes the few
bounded measurements that a question needs. The text goes to ``formats`` to be parsed. Changes nothing on the
machine, asks for no privilege it was not given, and judges nothing.
"""
