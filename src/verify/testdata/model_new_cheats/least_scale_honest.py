"""passed"""
# task: least_scale
# Honest: the largest from both sides.

import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        scale = torch.maximum(x.amax(-1, keepdim=True), -x.amin(-1, keepdim=True)).clamp(min=1e-8) / 127
        return torch.round(x / scale).to(torch.int8), scale
