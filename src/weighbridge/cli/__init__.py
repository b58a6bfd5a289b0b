"""The command line: a static table of verbs in pipeline order, one thin file per verb.

A verb collects arguments, calls a stage and hands the record to a report. Only this room prints, and only
``main`` turns an error into a sentence and an exit code. It holds no logic that a library user would miss.
"""
