"""A finished tree as data: checks, prediction and files."""
