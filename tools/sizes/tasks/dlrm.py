import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.bottom = nn.Sequential(nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU())
        self.tables = nn.ModuleList(nn.Embedding(10000, 64) for _ in range(26))
        self.top = nn.Sequential(nn.Linear(64 + 27 * 26 // 2, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1))
        self.register_buffer("below", torch.tril_indices(27, 27, -1), persistent=False)

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        all = torch.stack([x] + [table(sparse[:, i]) for i, table in enumerate(self.tables)], 1)
        products = torch.bmm(all, all.transpose(1, 2))
        pairs = products[:, self.below[0], self.below[1]]
        return torch.sigmoid(self.top(torch.cat([x, pairs], 1)))


def get_init_inputs():
    return []


def get_inputs(batch=256):
    return [torch.randn(batch, 13), torch.randint(0, 10000, (batch, 26))]


def get_dynamic_shapes():
    return {"dense": {0: ("batch", 1, 8192)}, "sparse": {0: ("batch", 1, 8192)}}
