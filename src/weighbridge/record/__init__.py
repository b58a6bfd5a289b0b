"""Record: take a running training's measurements, inside its process and beside it.

Standard library only inside the training process; holds no lock across a step and lets no exception out:
a recorder must never hurt a run. Analyses nothing; it writes part files that the launcher closes.
"""
