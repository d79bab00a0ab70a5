"""Builders of data/public: each module reads public files that are not in the repository and
returns small tables."""
