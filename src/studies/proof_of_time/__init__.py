"""Proof of Time: questions whose evidence ends before a cutoff, and agents that work on it
offline."""
