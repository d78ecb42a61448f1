"""Writes into tensors and into views of them: what every alias must see afterwards."""
import torch
from torch import nn
from torch.nn import functional as F

from stitchcuda_torch.cases.case import Case

TESTS = []


def test(*shapes):
    """Registers a function of a fresh copy of the first input and of the others."""

    def register(function):
        TESTS.append((function, shapes))
        return function

    return register


@test((3, 5))
def relu_(x):
    return x.relu_() + x


@test((3, 5))
def chain_of_activations(x):
    torch.sigmoid_(x)
    F.leaky_relu_(x, 0.2)
    F.elu_(x)
    F.hardtanh_(x, -0.5, 0.5)
    return x.tanh_()


@test((3, 5), (3, 5))
def named_otherwise_in_place(x, y):
    x.floor_divide_(y.abs() + 0.5).pow_(y.round().abs()).ldexp_(y.round())
    return x


@test((3, 5), (3, 5))
def arithmetic(x, y):
    x.add_(y, alpha=2).sub_(1.5).mul_(y).div_(3.0)
    return x


@test((3, 5), (5,))
def arithmetic_broadcast(x, y):
    x += y
    x *= y
    x -= 1
    x /= 2
    return x


@test((3, 5))
def powers_and_roots(x):
    return x.abs_().sqrt_().exp_().log_().pow_(2).neg_()


@test((3, 5))
def clamp_(x):
    return x.clamp_(-0.5, 0.5), x.clamp_min(0.1), x.clamp_max_(0.2)


@test((3, 5))
def fill_and_zero_on_views(x):
    x[0].fill_(2.5)
    x[:, 1].zero_()
    return x


@test((3, 5), (5,))
def copy_broadcasts(x, y):
    return x.copy_(y) * 2


@test((3, 5), (3, 2))
def slice_assignment(x, y):
    x[:, 1:3] = y
    return x


@test((3, 5), (2, 5))
def slice_assignment_with_step(x, y):
    x[::2] = y
    return x


@test((3, 5))
def slice_assignment_scalar(x):
    x[1:, :2] = 0.25
    x[-1, -1] = 7
    return x


@test((3, 4, 5), (3, 5))
def select_assignment(x, y):
    x[:, -1] = y
    return x


@test((2, 3, 4))
def ellipsis_assignment_from_itself(x):
    x[..., 0] = x[..., 1] * 2
    return x


@test((4, 4))
def overlapping_copy_reads_before_it_writes(x):
    x[1:] = x[:-1].clone()
    return x


@test((4, 4))
def diagonal_fill(x):
    x.diagonal().fill_(0.5)
    x.fill_diagonal_(1.5)
    return x


@test((3, 4))
def masked_fill_(x):
    x.masked_fill_(x > 0, -1.0)
    return x


@test((3, 4))
def masked_fill_on_view(x):
    x[:, 1:].masked_fill_(x[:, 1:] < 0, 0.5)
    return x


@test((3, 4), (3, 2))
def add_on_view_of_clone(x, y):
    part = x[:, 2:]
    part += y
    return x, part


@test((3, 4))
def multiply_on_transposed_view(x):
    x.t()[1].mul_(3)
    return x


@test((3, 4))
def view_sees_later_write_of_base(x):
    row = x[1]
    x.mul_(2)
    return row + 1


@test((3, 4))
def base_sees_write_through_two_views(x):
    flat = x.view(-1)
    flat[3:7].add_(10)
    return x, flat


@test((2, 6))
def write_through_unflattened_view(x):
    x.view(2, 3, 2)[:, 1].relu_()
    return x


@test((2, 4))
def chunks_written_in_place(x):
    first, second = x.chunk(2, dim=1)
    first.add_(second)
    second.zero_()
    return x


@test((3, 4))
def value_before_the_write_survives(x):
    before = x * 1
    x.zero_()
    return before + x


@test((3, 4))
def squeezed_and_expanded_read_after_write(x):
    column = x[:, :1]
    wide = column.expand(3, 4)
    column.add_(5)
    return wide * 2


@test((3, 4))
def reshape_that_copies_does_not_alias(x):
    copied = x.t().reshape(-1)
    copied.zero_()
    return x + copied.sum()


@test((2, 3))
def residual_add(x):
    shortcut = x
    x = x * 2
    x += shortcut
    return x


@test((4, 3))
def fill_a_buffer_step_by_step(x):
    out = torch.zeros_like(x)
    state = torch.zeros_like(x[0])
    for step in range(x.size(0)):
        state = torch.tanh(state + x[step])
        out[step] = state
    return out


@test((3, 4), (3, 4))
def addcmul_and_lerp(x, y):
    return x.addcmul_(y, y, value=0.5).addcdiv_(y, y.abs() + 1, value=2.0).lerp_(y, 0.25)


@test((3, 3))
def triangle_in_place(x):
    return x.tril_().t().triu_(1)


@test((5,))
def scatter_and_index_in_place(x):
    x.scatter_(0, torch.tensor([0, 3]), torch.stack([x[1], x[2]]))
    x.index_fill_(0, torch.tensor([4]), 9.0)
    x.index_add_(0, torch.tensor([1, 1]), x[:2].clone())
    return x


@test((3, 4))
def swap_rows(x):
    x[[0, 2]] = x[[2, 0]]
    return x


@test((3, 4))
def round_and_remainder_in_place(x):
    return x.mul_(4).add_(0.01).floor_().remainder_(3)


@test((2, 4))
def bool_mask_updated_in_place(x):
    mask = x > 0
    mask[:, 0] = True
    mask &= x < 1
    return mask


@test((2, 3, 4))
def unsqueeze_in_place_then_write(x):
    x.unsqueeze_(0).squeeze_(0).transpose_(1, 2)
    x[:, 0] = 1
    return x


@test((3, 4))
def shape_changed_in_place(x):
    y = (x * 2).unsqueeze_(1)
    z = y + 1
    y.squeeze_()
    y.t_()[0] = 5
    return z, y.unsqueeze_(0).squeeze_((0,)), y.sum(0)


@test((2, 3))
def alias_written_in_place(x):
    torch.ops.aten.alias(x)[0].add_(1)
    return x


class Counter(nn.Module):
    """A buffer that every call advances."""

    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.tensor(3))
        self.register_buffer("average", torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x):
        self.steps += 1
        self.average.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return x * self.steps - self.average


class Cache(nn.Module):
    """A key cache written by slice, read whole."""

    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.ones(2, 6, 3))

    def forward(self, x):
        self.keys[:, 2:4] = x
        return self.keys.sum(1)


class InputIsWritten(nn.Module):
    def forward(self, x):
        x.mul_(2)
        return x + 1


def cases():
    generator = torch.Generator().manual_seed(118)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    def on_copy(function):
        return lambda x, *others: function(x.clone(), *others)

    torch.manual_seed(118)
    for function, shapes in TESTS:
        name = function.__name__.rstrip("_")
        yield Case(f"inplace_{name}", on_copy(function), tuple(normal(*shape) for shape in shapes))
    modules = {
        "relu_module_after_conv": (nn.Sequential(nn.Conv1d(2, 3, 2), nn.ReLU(inplace=True), nn.Hardtanh(0, 0.4, inplace=True)), normal(2, 2, 5)),
        "activations_after_linear": (nn.Sequential(nn.Linear(4, 5), nn.SiLU(inplace=True), nn.Hardswish(inplace=True), nn.ReLU6(inplace=True)), normal(3, 4)),
        "buffers_advance": (Counter(), normal(4, 3)),
        "cache_written_by_slice": (Cache(), normal(2, 2, 3)),
        "input_is_written": (InputIsWritten(), normal(2, 3)),
    }
    for name, (run, *inputs) in modules.items():
        yield Case(f"inplace_{name}", run, tuple(inputs))
