"""Plan: a portfolio of tasks weighed on candidate machines: demand, feasibility, cost, queue.

A machine that does not fit is kept with its reasons; "nothing fits" is an answer. Fetches no prices and
knows no vendor's preference.
"""
