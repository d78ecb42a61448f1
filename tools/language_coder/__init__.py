"""A language Coder from scratch: README.md beside this file, docs/language-coder.md for the recipe."""
