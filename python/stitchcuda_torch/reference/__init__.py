"""PyTorch's answers about one task, in float64 and in every numerics class: python -m stitchcuda_torch.reference."""
