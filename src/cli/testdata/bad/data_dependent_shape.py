import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x[x > 0.5]


def get_inputs():
    return [torch.rand(2, 4)]


def get_init_inputs():
    return []
