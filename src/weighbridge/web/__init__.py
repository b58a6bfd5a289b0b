"""Web: the same answers as pages, on this machine only (127.0.0.1), read-only but for answers to questions.

Not a dashboard service: no accounts, no telemetry, no script from elsewhere, and nothing listens until asked.
"""
