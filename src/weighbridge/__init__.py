"""Weighbridge: weigh a training load before the machine is bought.

Importing this package loads nothing but the standard library; each room loads what it needs.
"""

__version__ = "0.1.0"
