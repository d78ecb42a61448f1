"""pinn_grad: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    """A PINN residual: derivatives by torch.autograd.grad inside forward."""
    def __init__(self, h=128):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, h), nn.Tanh(), nn.Linear(h, h), nn.Tanh(), nn.Linear(h, 1))

    def forward(self, x, t):
        x = x.detach().clone().requires_grad_(True)
        t = t.detach().clone().requires_grad_(True)
        with torch.enable_grad():
            u = self.net(torch.cat([x, t], 1))
            u_t = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
            u_x = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
            u_xx = torch.autograd.grad(u_x, x, torch.ones_like(u_x), create_graph=True)[0]
        return u, u_t + u * u_x - 0.01 / math.pi * u_xx


def get_inputs():
    return [torch.rand(4096, 1), torch.rand(4096, 1)]


def get_init_inputs():
    return []
