"""The checks of an acceptance, one file each: what it needs, how it runs, how its output is judged.

Running, parsing and judging are three functions, so that every judgement can be tested from pasted
output. A check changes no limit: what was agreed stands in the plan.
"""
