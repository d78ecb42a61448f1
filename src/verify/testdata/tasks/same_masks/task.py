"""A causal mask, lengths and offsets that are the same in every draw, and weights that the known seed makes."""

import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.table = torch.nn.Embedding(words, width)
        self.slope = torch.nn.PReLU()
        self.turn = torch.nn.Parameter(torch.eye(width))

    def forward(self, words, mask, lengths):
        x = self.slope(self.table(words)) @ self.turn
        scores = torch.softmax(x @ x.mT + mask, -1)
        kept = torch.arange(words.shape[1]) < lengths[:, None]
        return (scores @ x) * kept[..., None]


def get_init_inputs():
    return [50, 16]


def get_inputs():
    return [torch.randint(0, 50, (4, 12)), torch.full((12, 12), float("-inf")).triu(1), torch.full((4,), 12)]
