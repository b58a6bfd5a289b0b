"""The sections of the diagnosis page: each takes what was gathered and a language and returns markup.

Every section is there in every page and in both languages; where a log gives nothing to show, the section
says so. ``material`` asks the run's tables once for both languages.
"""
