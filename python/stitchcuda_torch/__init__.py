"""PyTorch's side of the tool: exports models, answers as the reference, runs Python candidates (README.md)."""

import os

FOLDER = os.path.dirname(os.path.abspath(__file__))
