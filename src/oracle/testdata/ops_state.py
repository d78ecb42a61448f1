"""What a forward pass leaves for the next one: two calls in a row."""
import torch
import torch.nn.functional as F
from torch import nn

from stitchcuda_torch.cases.case import Case


class Steps(nn.Module):
    def __init__(self, step, **buffers):
        super().__init__()
        self.step = step
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, x):
        return self.step(self, x)


class Within(nn.Module):
    """State of a submodule that is called twice in a forward pass."""

    def __init__(self, inner):
        super().__init__()
        self.inner = nn.ModuleList([inner])

    def forward(self, x):
        return self.inner[0](x) + self.inner[0](2 * x)


def moving_mean(self, x):
    self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
    return x - self.mean


def cache(self, x):
    self.keys[:, self.place] = x
    self.place += 1
    return self.keys.softmax(1), self.keys[:, self.place - 1], self.keys[-1, self.place - 2, 1:]


def ring(self, x):
    self.rows[self.place % 4] += x.mean(0)
    self.place = (self.place + 1) % 4
    return x @ self.rows.T


def exchange(self, x):
    self.one, self.two = self.two, self.one + x
    return self.one * 2


def data(self, x):
    self.mean.data.mul_(0.5).add_(x.mean(0))
    return x - self.mean


def first_call(self, x):
    self.mean.copy_(torch.where(self.ready, self.mean, x.mean(0)))
    self.ready.fill_(True)
    return x - self.mean


def made_on_demand(self, x):
    if self.table is None:
        self.table = torch.arange(4.0).cos()
    return x * self.table


def cases():
    generator = torch.Generator().manual_seed(7)

    def x():
        return (torch.randn(3, 4, generator=generator),)

    zeros = torch.zeros
    yield Case("moving_mean", Steps(moving_mean, mean=zeros(4)), x(), again=x())
    yield Case("moving_mean_within", Within(Steps(moving_mean, mean=zeros(4))), x(), again=x())
    yield Case("cache_at_a_place", Steps(cache, keys=zeros(3, 5, 4), place=zeros((), dtype=torch.long)), x(), again=x())
    yield Case("ring_at_a_place", Within(Steps(ring, rows=zeros(4, 4), place=torch.tensor(3))), x(), again=x())
    yield Case("exchange", Steps(exchange, one=zeros(3, 4), two=torch.ones(3, 4)), x(), again=x())
    yield Case("data", Steps(data, mean=zeros(4)), x(), again=x())
    yield Case("first_call", Steps(first_call, mean=zeros(4), ready=torch.tensor(False)), x(), again=x())
    yield Case("made_on_demand", Steps(made_on_demand, table=None), x(), again=x())
    yield Case("batch_norm_within", Within(nn.BatchNorm1d(4)), x(), again=x())
    yield Case("batch_norm_that_counts", Within(nn.BatchNorm1d(4, momentum=None)), x(), again=x())

    yield Case("aliases", aliases, x())
    yield Case("place", lambda x, i: (x[i], x[:, i], x[i, 1:, None], x[i, i + 1, ...]), (*x(), torch.tensor(-2)))
    yield Case("place_written", place_written, (*x(), torch.tensor(-2)))
    yield Case("masks_in_lists", lambda x: (x[[True, False, True]], x[torch.tensor([1, 0, 1], dtype=torch.uint8)]), x())
    yield Case("pad_left", lambda x: nn.utils.rnn.pad_sequence([x, x[:2]], True, -1.0, "left"), x())
    yield Case("bucketize_number", lambda x: (torch.bucketize(0.3, x[0].sort().values), torch.bucketize(2, x[0].sort().values, right=True)), x())
    yield Case("causal_bias", causal_bias, (torch.randn(2, 3, 4, generator=generator), torch.randn(2, 5, 4, generator=generator)))
    yield Case("by_its_dtype", lambda x: x * 2 if x.dtype == torch.float32 else x * 3, x())


def aliases(x):
    """A conversion to the dtype that a tensor has is the tensor itself; to another it is a copy."""
    y, z = x * 1, x * 1
    y.float().add_(1)
    y.to(torch.float32).mul_(2)
    z.double().add_(1)
    z.half().mul_(2)
    return y, z


def place_written(x, i):
    y = x.clone()
    y[i] = 7.0
    y[:, i] = y[:, 0] * 2
    y[i, 1:3] += 1
    return y


def causal_bias(q, k):
    from torch.nn.attention.bias import causal_lower_right

    return F.scaled_dot_product_attention(q, k, k, causal_lower_right(3, 5))
