"""crnn_ctc: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self, nc=37, h=256):
        super().__init__()
        self.cnn = nn.Sequential(nn.Conv2d(1, 8, 3, 1, 1), nn.ReLU(True), nn.MaxPool2d(2, 2), nn.Conv2d(8, 16, 3, 1, 1), nn.BatchNorm2d(16), nn.ReLU(True), nn.MaxPool2d((2, 2), (2, 1), (0, 1)), nn.Conv2d(16, 16, 2), nn.ReLU(True), nn.AdaptiveAvgPool2d((1, None)))
        self.rnn = nn.LSTM(16, h, 2, bidirectional=True, dropout=0.1)
        self.fc = nn.Linear(2 * h, nc)

    def forward(self, x, targets, target_lengths):
        f = self.cnn(x).squeeze(2).permute(2, 0, 1)
        y, _ = self.rnn(f)
        logp = self.fc(y).log_softmax(2)
        lengths = torch.full((x.shape[0],), logp.shape[0], dtype=torch.long)
        loss = F.ctc_loss(logp, targets, lengths, target_lengths, blank=0, zero_infinity=True)
        return logp, loss


def get_inputs():
    return [torch.randn(16, 1, 32, 100), torch.randint(1, 37, (16, 12)), torch.randint(1, 13, (16,))]


def get_init_inputs():
    return []
