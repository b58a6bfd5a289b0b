"""Diagnose: from a Run to a verdict, its evidence, and what each remedy would give.

A function from records to a record: no files, no language, no printing. It says "cannot say" when the log
does not carry the answer, and which file would; it never guesses a cause it has no signal for.
"""
