import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x.double())


def get_inputs():
    return [torch.rand(2, 4)]


def get_init_inputs():
    return []
