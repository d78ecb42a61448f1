import torch

sizes = [1, 2][5]


class Model(torch.nn.Module):
    def forward(self, x):
        return x
