"""A ModelNew in a process of its own: python -m stitchcuda_torch.candidate."""
