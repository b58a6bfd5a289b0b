"""Tests of the store: a package, so that its file names may recur in other rooms."""
