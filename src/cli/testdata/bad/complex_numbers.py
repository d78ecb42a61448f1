import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.fft.fft(x)


def get_inputs():
    return [torch.rand(2, 4)]


def get_init_inputs():
    return []
