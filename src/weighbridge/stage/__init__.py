"""Stage: bring a task's data to fast storage before the run and its results back after it.

Chooses the hot set, copies with verification, keeps the cache within its bound. Never deletes a source and
never reports a copy that it has not verified.
"""
