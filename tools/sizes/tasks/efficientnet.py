import torch
import torch.nn as nn
import torchvision


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.model = torchvision.models.efficientnet_b0(weights=None).eval()

    def forward(self, x):
        return self.model(x)


def get_init_inputs():
    return []


def get_inputs(batch=16):
    return [torch.randn(batch, 3, 224, 224)]


def get_dynamic_shapes():
    return {"x": {0: ("batch", 1, 64)}}
