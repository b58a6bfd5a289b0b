"""Parts of the scorer of measured tables: rows to records, and one module per kind of figure."""
