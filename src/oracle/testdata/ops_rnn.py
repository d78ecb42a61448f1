"""Recurrent layers: each gate's order, layers, directions, layouts, initial states; and single cells."""
import torch
from torch import nn

from stitchcuda_torch.cases.case import Case


class Unrolled(nn.Module):
    """A cell in a Python loop, over time first."""

    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def forward(self, x, state):
        outputs = []
        for step in x.unbind(0):
            state = self.cell(step, state)
            outputs.append(state)
        return torch.stack(outputs)


class LstmCellLoop(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(3, 4)

    def forward(self, x, h, c):
        for step in range(x.size(1)):
            h, c = self.cell(x[:, step], (h, c))
        return h, c


class LastStep(nn.Module):
    """What a classifier does: the last step of a batch-first layer."""

    def __init__(self, layer, size):
        super().__init__()
        self.layer, self.head = layer, nn.Linear(size, 2)

    def forward(self, x):
        return self.head(self.layer(x)[0][:, -1, :])


class Pair(nn.Module):
    """nn.LSTM takes its two states as one tuple."""

    def __init__(self, lstm):
        super().__init__()
        self.lstm = lstm

    def forward(self, x, h, c):
        return self.lstm(x, (h, c))


class Packed(nn.Module):
    """Sequences of different lengths, packed before a recurrence and padded behind it."""

    def __init__(self, rnn, is_sorted):
        super().__init__()
        self.rnn, self.is_sorted = rnn, is_sorted

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, self.rnn.batch_first, self.is_sorted)
        y, state = self.rnn(packed)
        steps = x.shape[1 if self.rnn.batch_first else 0]
        y, n = nn.utils.rnn.pad_packed_sequence(y, self.rnn.batch_first, padding_value=-1.0, total_length=steps + 1)
        return y, n, state


def cases():
    generator = torch.Generator().manual_seed(112)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    torch.manual_seed(112)
    x = normal(5, 2, 3)  # (time, batch, features)
    table = {
        "lstm": (nn.LSTM(3, 4), x),
        "lstm_two_layers": (nn.LSTM(3, 4, 2), x),
        "lstm_three_layers_bidirectional": (nn.LSTM(3, 4, 3, bidirectional=True), x),
        "lstm_batch_first": (nn.LSTM(3, 4, batch_first=True), x),
        "lstm_no_bias": (nn.LSTM(3, 4, 2, bias=False), x),
        "lstm_without_batch": (nn.LSTM(3, 4, bidirectional=True), x[:, 0]),
        "lstm_given_states": (Pair(nn.LSTM(3, 4, 2, batch_first=True)), x, normal(2, 5, 4), normal(2, 5, 4)),
        "lstm_bidirectional_given_states": (Pair(nn.LSTM(3, 4, 1, bidirectional=True)), x, normal(2, 2, 4), normal(2, 2, 4)),
        "lstm_projection": (nn.LSTM(3, 5, proj_size=2), x),
        "lstm_projection_two_layers_bidirectional": (nn.LSTM(3, 5, 2, bidirectional=True, proj_size=2), x),
        "lstm_one_step": (nn.LSTM(3, 4), normal(1, 2, 3)),
        "lstm_last_step": (LastStep(nn.LSTM(3, 4, 2, batch_first=True), 4), x),
        "lstm_dropout_zero": (nn.LSTM(3, 4, 2, dropout=0.0), x),
        "gru": (nn.GRU(3, 4), x),
        "gru_two_layers": (nn.GRU(3, 4, 2), x),
        "gru_three_layers_bidirectional": (nn.GRU(3, 4, 3, bidirectional=True), x),
        "gru_batch_first": (nn.GRU(3, 4, batch_first=True), x),
        "gru_no_bias": (nn.GRU(3, 4, 2, bias=False, bidirectional=True), x),
        "gru_without_batch": (nn.GRU(3, 4), x[:, 0]),
        "gru_given_state": (nn.GRU(3, 4, 2), x, normal(2, 2, 4)),
        "gru_bidirectional_given_state": (nn.GRU(3, 4, 2, bidirectional=True), x, normal(4, 2, 4)),
        "gru_given_state_batch_first": (nn.GRU(3, 4, batch_first=True), x, normal(1, 5, 4)),
        "lstm_packed": (Packed(nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True), False), normal(3, 5, 3), torch.tensor([2, 5, 3])),
        "gru_packed": (Packed(nn.GRU(3, 4, bias=False, bidirectional=True), True), normal(4, 3, 3), torch.tensor([4, 3, 1])),
        "tanh": (nn.RNN(3, 4), x),
        "tanh_two_layers_bidirectional": (nn.RNN(3, 4, 2, bidirectional=True), x),
        "tanh_given_state": (nn.RNN(3, 4), x, normal(1, 2, 4)),
        "relu": (nn.RNN(3, 4, nonlinearity="relu"), x),
        "relu_batch_first_no_bias": (nn.RNN(3, 4, 2, nonlinearity="relu", batch_first=True, bias=False), x),
        "tanh_without_batch": (nn.RNN(3, 4), x[:, 0]),
        "lstm_cell": (nn.LSTMCell(3, 4), x[0]),
        "lstm_cell_loop": (LstmCellLoop(), normal(2, 4, 3), normal(2, 4), normal(2, 4)),
        "gru_cell": (nn.GRUCell(3, 4), x[0], normal(2, 4)),
        "gru_cell_no_bias_no_state": (nn.GRUCell(3, 4, bias=False), x[0]),
        "gru_cell_loop": (Unrolled(nn.GRUCell(3, 4)), x, normal(2, 4)),
        "tanh_cell_loop": (Unrolled(nn.RNNCell(3, 4)), x, normal(2, 4)),
        "relu_cell": (nn.RNNCell(3, 4, nonlinearity="relu"), x[0], normal(2, 4)),
        "cell_without_batch": (nn.GRUCell(3, 4), x[0, 0], normal(4)),
    }
    for name, (run, *inputs) in table.items():
        yield Case(f"rnn_{name}", run, tuple(inputs))
    yield Case("rnn_lstm_dropout_eval", nn.LSTM(3, 4, 2, dropout=0.5), (x,), eval=True)
