"""Spec: the least machine that fits, with margins, written as requirements that can be checked.

Also the desensitised environment, the terms, the scoring sheet and the task pack. Writes no requirement that
no check of ``accept`` can measure. Names no brand.
"""
