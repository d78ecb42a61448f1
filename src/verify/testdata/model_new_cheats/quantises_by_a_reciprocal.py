"""passed"""
# task: quantised_rows
# Honest: products with reciprocals.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        scale = torch.maximum(x.amax(-1, keepdim=True), -x.amin(-1, keepdim=True)) * (1 / 127)
        return torch.round(x * (1 / scale.clamp(min=1e-8))).to(torch.int8), scale
