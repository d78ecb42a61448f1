"""packed_lengths_lstm: eval mode, random weights."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Model(nn.Module):
    """Sentence classifier on padded batches with lengths."""
    def __init__(self, v=10000, d=256, h=256):
        super().__init__()
        self.emb, self.lstm, self.fc = nn.Embedding(v, d, padding_idx=0), nn.LSTM(d, h, batch_first=True, bidirectional=True), nn.Linear(2 * h, 3)

    def forward(self, ids, lengths):
        packed = pack_padded_sequence(self.emb(ids), lengths, batch_first=True, enforce_sorted=False)
        out, (h, c) = self.lstm(packed)
        out, _ = pad_packed_sequence(out, batch_first=True, total_length=ids.shape[1])
        return self.fc(torch.cat([h[0], h[1]], -1)), out


def get_inputs():
    return [torch.randint(1, 10000, (32, 64)), torch.randint(1, 65, (32,))]


def get_init_inputs():
    return []
