"""vit_tiny_bf16_mha: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, d=192, layers=6):
        super().__init__()
        self.patch = nn.Conv2d(3, d, 16, 16)
        self.cls, self.pos = nn.Parameter(torch.zeros(1, 1, d)), nn.Parameter(torch.randn(1, 197, d) * 0.02)
        layer = nn.TransformerEncoderLayer(d, 3, 4 * d, 0.0, "gelu", batch_first=True, norm_first=True)
        self.enc, self.norm, self.head = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False), nn.LayerNorm(d), nn.Linear(d, 1000)
        self.to(torch.bfloat16)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.pos
        return self.head(self.norm(self.enc(x))[:, 0])


def get_inputs():
    return [torch.randn(32, 3, 224, 224, dtype=torch.bfloat16)]

def get_init_inputs():
    return []
