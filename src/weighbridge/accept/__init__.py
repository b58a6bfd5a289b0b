"""Accept: the delivered machine, measured and held against what was agreed.

Plans the checks, runs them with limits on time and heat, and gives each a verdict with its raw output. Only
measured figures are compared with agreed ones. "Not tested" is a verdict of its own and is never a pass.
"""
