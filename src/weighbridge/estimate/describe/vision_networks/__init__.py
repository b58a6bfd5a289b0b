"""Networks by name, built from their blocks. Published architectures only: no measured figure is kept
here."""
