"""``python -m weighbridge``."""

from weighbridge.cli.main import main

main()
