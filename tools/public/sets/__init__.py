"""Builders of question sets from other projects' files: a module a source, rows in, tables of
`helpers.sets` out."""
