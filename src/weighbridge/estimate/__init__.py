"""Estimate: a Load from a description of a model, or from the user's own script.

``describe`` counts from layers and shapes, ``trace`` runs the script on stand-in devices. Says what a task
demands, with the method's known error, and not how long it takes on a machine: that is for ``weigh``.
"""
