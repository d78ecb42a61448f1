"""A task's Python file: loaded, constructed, called; what it imports, and the line an error points at."""
