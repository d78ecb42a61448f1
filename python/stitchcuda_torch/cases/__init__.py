"""Test data for C++: python -m stitchcuda_torch.cases."""
