import torch
import torch.nn as nn


def double(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b, self.c, self.m = double(3, 32), double(32, 64), double(64, 128), double(128, 256)
        self.uc, self.ub, self.ua = nn.ConvTranspose2d(256, 128, 2, 2), nn.ConvTranspose2d(128, 64, 2, 2), nn.ConvTranspose2d(64, 32, 2, 2)
        self.dc, self.db, self.da = double(256, 128), double(128, 64), double(64, 32)
        self.out, self.pool = nn.Conv2d(32, 2, 1), nn.MaxPool2d(2)
        self.eval()

    def forward(self, x):
        a = self.a(x)
        b = self.b(self.pool(a))
        c = self.c(self.pool(b))
        m = self.m(self.pool(c))
        c = self.dc(torch.cat([self.uc(m), c], 1))
        b = self.db(torch.cat([self.ub(c), b], 1))
        return self.out(self.da(torch.cat([self.ua(b), a], 1)))


def get_init_inputs():
    return []


def get_inputs(batch=1, height=256, width=256):
    return [torch.randn(batch, 3, height, width)]


def get_dynamic_shapes():
    return {"x": {0: ("batch", 1, 8), 2: ("height", 64, 512, 8), 3: ("width", 64, 512, 8)}}
