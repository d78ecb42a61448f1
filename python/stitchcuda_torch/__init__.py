"""PyTorch's side of StitchCUDA: exports models, runs the float64 reference. Import nothing heavy here."""
