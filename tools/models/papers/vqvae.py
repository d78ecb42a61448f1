"""vqvae: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Residual(nn.Module):
    def __init__(self, c, r):
        super().__init__()
        self.b = nn.Sequential(nn.ReLU(), nn.Conv2d(c, r, 3, 1, 1, bias=False), nn.ReLU(), nn.Conv2d(r, c, 1, bias=False))

    def forward(self, x):
        return x + self.b(x)


class Model(nn.Module):
    def __init__(self, h=128, d=64, k=512):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, h // 2, 4, 2, 1), nn.ReLU(), nn.Conv2d(h // 2, h, 4, 2, 1), nn.ReLU(), nn.Conv2d(h, h, 3, 1, 1),
                                 Residual(h, 32), Residual(h, 32), nn.ReLU(), nn.Conv2d(h, d, 1))
        self.codebook = nn.Embedding(k, d)
        self.dec = nn.Sequential(nn.Conv2d(d, h, 3, 1, 1), Residual(h, 32), Residual(h, 32), nn.ReLU(),
                                 nn.ConvTranspose2d(h, h // 2, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(h // 2, 3, 4, 2, 1))

    def forward(self, x):
        z = self.enc(x).permute(0, 2, 3, 1).contiguous()
        flat = z.view(-1, z.shape[-1])
        dist = flat.pow(2).sum(1, keepdim=True) + self.codebook.weight.pow(2).sum(1) - 2 * flat @ self.codebook.weight.t()
        idx = dist.argmin(1)
        onehot = F.one_hot(idx, self.codebook.num_embeddings).to(x.dtype)
        q = (onehot @ self.codebook.weight).view(z.shape)
        loss = F.mse_loss(q.detach(), z) + F.mse_loss(q, z.detach())
        q = z + (q - z).detach()
        p = onehot.mean(0)
        perplexity = torch.exp(-(p * torch.log(p + 1e-10)).sum())
        return self.dec(q.permute(0, 3, 1, 2)), loss, perplexity


def get_inputs():
    return [torch.randn(32, 3, 64, 64)]

def get_init_inputs():
    return []
