"""A model written down as aten.json and weights.safetensors: python -m stitchcuda_torch.export."""
