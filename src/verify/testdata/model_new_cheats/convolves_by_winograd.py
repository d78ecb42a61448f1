"""passed"""
# task: small_conv
# Honest: Winograd's F(2 x 2, 3 x 3), filters transformed once and again when they change.

import torch

B = torch.tensor([[1.0, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
G = torch.tensor([[1.0, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
A = torch.tensor([[1.0, 1, 1, 0], [0, 1, -1, -1]])


class ModelNew(torch.nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, channels, 3, padding=1)
        self.linear = torch.nn.Linear(channels, classes)
        self.transformed, self.of = None, None

    def filters(self):
        weight = self.conv.weight
        if self.of != (weight.data_ptr(), weight._version):
            g = G.to(weight)
            self.transformed, self.of = g @ weight.detach() @ g.t(), (weight.data_ptr(), weight._version)
        return self.transformed

    def forward(self, x):
        b, a = B.to(x), A.to(x)
        tiles = torch.nn.functional.pad(x, (1, 1, 1, 1)).unfold(2, 4, 2).unfold(3, 4, 2)  # (N, C, H/2, W/2, 4, 4)
        products = torch.einsum("ncyxij,kcij->nkyxij", b @ tiles @ b.t(), self.filters())
        out = (a @ products @ a.t()).transpose(3, 4).flatten(4, 5).flatten(2, 3)
        return self.linear(torch.relu(out + self.conv.bias[:, None, None]).mean((2, 3)))
