"""Ledger: what happened over time: classes of tasks, alarms, incidents, tickets, changes, predictions.

Keeps predictions beside what later came true, and says from the record when to expand. Corrections are new
records; nothing is rewritten.
"""
