import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.linear(x)


def get_inputs():
    return [torch.rand(2, 4)]


def get_init_inputs():
    return []
