"""A tree for people and other programs: words, pictures, dictionaries and exports."""
