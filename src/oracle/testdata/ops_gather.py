"""Reading and writing at computed places: gather, scatter, index, embedding, advanced indexing."""
import torch
from torch import nn
from torch.nn import functional as F

from stitchcuda_torch.cases.case import Case


def assigned(assign):
    """Applies an assignment to a copy of the first input, so that the input stays as it was."""

    def run(x, *others):
        x = x.clone()
        assign(x, *others)
        return x

    return run


def put_rows(x, rows, values):
    x[rows] = values


def put_two_indices(x, rows, columns, values):
    x[rows, columns] = values


def put_after_slice(x, columns, values):
    x[:, columns] = values


def put_scalar(x, rows):
    x[rows] = -1.0


def dense_expert_weights(scores):
    """Top-2 of each token's experts, softmaxed, scattered back into a dense matrix."""
    values, experts = torch.topk(scores, 2, dim=-1)
    return torch.zeros_like(scores).scatter(-1, experts, torch.softmax(values, dim=-1))


def cases():
    generator = torch.Generator().manual_seed(114)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    def index(high, *shape):
        return torch.randint(0, high, shape, generator=generator)

    torch.manual_seed(114)
    x = normal(4, 5)
    cube = normal(3, 4, 5)
    distinct = torch.tensor([[0, 2, 4], [1, 0, 3], [4, 3, 2]])  # no place twice in a row
    rows, columns = torch.tensor([3, 0, 2]), torch.tensor([1, 4, 1])
    twice = torch.tensor([1, 3, 1, 0, 1])
    table = {
        "gather": (lambda x, i: torch.gather(x, 1, i), x, index(5, 4, 7)),
        "gather_first_dim": (lambda x, i: x.gather(0, i), x, index(4, 2, 3)),
        "gather_three_dims": (lambda x, i: x.gather(-2, i), cube, index(4, 3, 2, 5)),
        "gather_of_argmax": (lambda x: x.gather(1, x.argmax(1, keepdim=True)), x),
        "gather_integers": (lambda x, i: x.gather(1, i), index(9, 4, 5), index(5, 4, 2)),
        "take_along_dim": (lambda x, i: torch.take_along_dim(x, i, dim=1), x, index(5, 4, 2)),
        "take_along_dim_broadcast": (lambda x, i: torch.take_along_dim(x, i, dim=1), x, index(5, 1, 2)),
        "take": (torch.take, x, index(20, 3, 2)),
        "scatter": (lambda x, i, s: torch.scatter(x, 1, i, s), normal(3, 5), distinct, normal(3, 3)),
        "scatter_value": (lambda x, i: x.scatter(1, i, 0.5), normal(3, 5), distinct),
        "scatter_source_larger_than_index": (lambda x, i, s: x.scatter(1, i, s), normal(3, 5), distinct, normal(4, 6)),
        "scatter_one_hot": (lambda x, i: torch.zeros_like(x).scatter(1, i, 1.0), x, index(5, 4, 1)),
        "scatter_add": (lambda x, i, s: x.scatter_add(1, i, s), x, index(5, 4, 7), normal(4, 7)),
        "scatter_add_first_dim": (lambda x, i, s: torch.scatter_add(x, 0, i, s), x, index(4, 6, 5), normal(6, 5)),
        "scatter_reduce_sum": (lambda x, i, s: x.scatter_reduce(1, i, s, "sum"), x, index(5, 4, 7), normal(4, 7)),
        "scatter_reduce_sum_without_self": (lambda x, i, s: x.scatter_reduce(1, i, s, "sum", include_self=False), x, index(5, 4, 7), normal(4, 7)),
        "scatter_reduce_prod": (lambda x, i, s: x.scatter_reduce(1, i, s, "prod"), x, index(5, 4, 7), normal(4, 7)),
        "scatter_reduce_mean": (lambda x, i, s: x.scatter_reduce(1, i, s, "mean"), x, index(5, 4, 7), normal(4, 7)),
        "scatter_reduce_mean_without_self": (lambda x, i, s: x.scatter_reduce(1, i, s, "mean", include_self=False), x, index(5, 4, 7), normal(4, 7)),
        "scatter_reduce_amax": (lambda x, i, s: x.scatter_reduce(1, i, s, "amax"), x, index(5, 4, 7), normal(4, 7)),
        "scatter_reduce_amin_without_self": (lambda x, i, s: x.scatter_reduce(1, i, s, "amin", include_self=False), x, index(5, 4, 7), normal(4, 7)),
        "scatter_multiply_value": (lambda x, i: x.scatter(1, i, 3.0, reduce="multiply"), normal(3, 5), distinct),
        "index_select": (lambda x, i: torch.index_select(x, 1, i), cube, twice),
        "index_select_last_dim": (lambda x, i: x.index_select(-1, i), cube, torch.tensor([4, 0])),
        "index_add": (lambda x, i, s: x.index_add(0, i, s, alpha=0.5), x, twice, normal(5, 5)),
        "index_add_last_dim": (lambda x, i, s: torch.index_add(x, 1, i, s), x, twice, normal(4, 5)),
        "index_copy": (lambda x, i, s: x.index_copy(0, i, s), x, rows, normal(3, 5)),
        "index_fill": (lambda x, i: x.index_fill(1, i, -2.0), x, torch.tensor([0, 3])),
        "index_put": (lambda x, i, j, s: torch.index_put(x, (i, j), s), x, rows, columns, normal(3)),
        "index_put_accumulate": (lambda x, i, s: torch.index_put(x, (i,), s, accumulate=True), x, twice, normal(5, 5)),
        "index_put_broadcast_value": (lambda x, i, s: torch.index_put(x, (i,), s), x, rows, normal(5)),
        "embedding": (nn.Embedding(10, 4), index(10, 2, 3)),
        "embedding_padding": (nn.Embedding(10, 4, padding_idx=3), torch.tensor([[3, 1], [0, 3]])),
        "embedding_function": (lambda i, w: F.embedding(i, w), index(6, 2, 3), normal(6, 4)),
        "embedding_rank_zero": (nn.Embedding(10, 4), torch.tensor(7)),
        "embedding_positions_added": (lambda i, w, p: F.embedding(i, w) + F.embedding(torch.arange(i.size(1)), p), index(6, 2, 3), normal(6, 4), normal(5, 4)),
        "one_hot": (lambda i: F.one_hot(i, num_classes=6), index(6, 2, 3)),
        "one_hot_times_matrix": (lambda i, w: F.one_hot(i, num_classes=6).to(w.dtype) @ w, index(6, 4), normal(6, 3)),
        "masked_fill_scalar": (lambda x: x.masked_fill(x > 0.3, -9.0), x),
        "masked_fill_tensor": (lambda x, v: x.masked_fill(x > 0.3, v), x, torch.tensor(2.5)),
        "masked_fill_broadcast": (lambda x, m: x.masked_fill(m, float("-inf")), cube, torch.tensor([True, False, False, True, False])),
        "at_one_index_tensor": (lambda x, i: x[i], x, twice),
        "at_negative_indices": (lambda x, i: x[i], x, torch.tensor([-1, 0, -4])),
        "at_matrix_of_indices": (lambda x, i: x[i], x, index(4, 2, 3)),
        "at_pairs": (lambda x, i, j: x[i, j], x, rows, columns),
        "at_pairs_broadcast": (lambda x, i, j: x[i[:, None], j[None, :]], x, rows, columns),
        "at_second_dim": (lambda x, i: x[:, i], cube, twice),
        "at_last_dim": (lambda x, i: x[..., i], cube, torch.tensor([4, 2])),
        "at_adjacent_after_slice": (lambda x, i, j: x[:, i, j], cube, rows, columns),
        "at_separated_by_slice": (lambda x, i, j: x[i, :, j], cube, torch.tensor([0, 2, 1]), columns),
        "at_integer_and_tensor": (lambda x, i: x[1, i], cube, rows),
        "at_integer_separated_from_tensor": (lambda x, i: x[1, :, i], cube, columns),
        "at_none_and_tensor": (lambda x, i: x[None, i, 1:3], cube, torch.tensor([2, 0])),
        "at_python_list": (lambda x: x[:, [0, 2, 2]], x),
        "at_arange_rows": (lambda x, j: x[torch.arange(4), j], x, index(5, 4)),
        "at_bias_table": (lambda table, i: table[i.view(-1)].view(3, 3, -1).permute(2, 0, 1).contiguous(), normal(7, 2), index(7, 3, 3)),
        "at_empty_index": (lambda x, i: x[i], x, torch.zeros(0, dtype=torch.int64)),
        "at_int32_index": (lambda x, i: x[i], x, torch.tensor([2, 1], dtype=torch.int32)),
        "assign_rows": (assigned(put_rows), x, rows, normal(3, 5)),
        "assign_pairs": (assigned(put_two_indices), x, rows, columns, normal(3)),
        "assign_columns": (assigned(put_after_slice), x, torch.tensor([4, 0]), normal(4, 2)),
        "assign_scalar_at_rows": (assigned(put_scalar), x, rows),
        "mask_via_where": (lambda x, m: torch.where(m.unsqueeze(-1), x, torch.zeros_like(x)), x, torch.tensor([True, False, True, False])),
        "experts_top_two_scattered": (dense_expert_weights, normal(6, 4)),
        "segment_sum": (lambda x, s: torch.zeros(3, 4, dtype=x.dtype).index_add(0, s, x), normal(6, 4), torch.tensor([0, 2, 2, 1, 0, 2])),
        "permutation_and_inverse": (lambda x, p: x[p][torch.argsort(p)], x, torch.tensor([2, 0, 3, 1])),
    }
    for name, (run, *inputs) in table.items():
        yield Case(f"gather_{name}" if not name.startswith(("gather", "scatter", "embedding", "one_hot", "index", "take", "masked")) else name, run, tuple(inputs))
