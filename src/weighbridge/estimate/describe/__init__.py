"""Descriptions of what is trained: a name, a file or a table becomes records that the kernel weighs."""
