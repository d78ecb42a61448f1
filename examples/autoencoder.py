"""A convolutional autoencoder: strided convolutions down to a code, transposed ones back up."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width, code):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, width, kernel_size=3, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(width, 2 * width, kernel_size=3, stride=2, padding=1),
            nn.BatchNorm2d(2 * width),
            nn.LeakyReLU(0.2),
        )
        self.to_code = nn.Linear(2 * width * 7 * 7, code)
        self.from_code = nn.Linear(code, 2 * width * 7 * 7)
        self.decoder = nn.Sequential(
            nn.Unflatten(1, (2 * width, 7, 7)),
            nn.ConvTranspose2d(2 * width, width, kernel_size=4, stride=2, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.ConvTranspose2d(width, 1, kernel_size=3, stride=2, padding=1, output_padding=1),
            nn.Sigmoid(),
        )

    def forward(self, images):  # (batch, 1, 28, 28)
        code = self.to_code(self.encoder(images).flatten(1))
        return self.decoder(self.from_code(code)), code


batch = 3
width = 8
code = 12


def get_init_inputs():
    return [width, code]


def get_inputs():
    return [torch.rand(batch, 1, 28, 28)]
