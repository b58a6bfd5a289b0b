"""Quote: what a vendor offers, read and held against the specification line by line.

Reads the offer's own words and keeps them beside the reading; a line it cannot read stays open as a question
to the vendor. Compares on one tax and service basis. Decides nothing: it shows what differs.
"""
