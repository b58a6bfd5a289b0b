"""GPUs of this host, one file per vendor behind one Protocol.

What a vendor's library does not tell is None, never 0. No vendor library is imported before it is asked for.
"""
