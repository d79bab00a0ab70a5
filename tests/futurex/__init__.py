"""Tests whose files are named as others' are: a package keeps them apart."""
