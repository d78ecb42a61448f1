"""Orders: sort, topk, search. Values are distinct unless the order among equals is defined."""
import torch

from stitchcuda_torch.cases.case import Case


def rank_of_each(x):
    return torch.argsort(torch.argsort(x, dim=-1), dim=-1)


def keep_top_k(x, k):
    """Sampling's filter: everything under the k-th largest becomes -inf."""
    smallest = torch.topk(x, k, dim=-1).values[..., -1, None]
    return x.masked_fill(x < smallest, float("-inf"))


def keep_nucleus(x):
    """Sampling's other filter: the smallest set of probability 0.7."""
    ordered, order = torch.sort(x, descending=True, dim=-1)
    probability = torch.softmax(ordered, dim=-1)
    drop = probability.cumsum(-1) - probability > 0.7
    return x.masked_fill(drop.scatter(-1, order, drop), float("-inf"))


def cases():
    generator = torch.Generator().manual_seed(120)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    x = normal(3, 7)
    ties = torch.tensor([[2, 1, 2, 0, 1], [3, 3, 3, 1, 1]])
    edges = torch.tensor([-1.0, -0.25, 0.5, 1.5])
    on_edges = torch.tensor([[-2.0, -1.0, 0.5], [0.75, 1.5, 9.0]])
    table = {
        "sort": (torch.sort, x),
        "sort_descending": (lambda x: torch.sort(x, descending=True), x),
        "sort_first_dim": (lambda x: torch.sort(x, dim=0), x),
        "sort_middle_dim": (lambda x: torch.sort(x, dim=1), normal(2, 5, 3)),
        "sort_stable_with_ties": (lambda i: torch.sort(i, stable=True), ties),
        "sort_stable_descending_with_ties": (lambda i: torch.sort(i, stable=True, descending=True), ties),
        "sort_nan_is_largest": (lambda x: torch.sort(x), torch.tensor([1.0, float("nan"), -float("inf"), float("inf")])),
        "sort_of_one": (torch.sort, normal(3, 1)),
        "sort_of_empty": (torch.sort, torch.zeros(3, 0)),
        "argsort": (lambda x: torch.argsort(x, dim=1), x),
        "argsort_descending": (lambda x: torch.argsort(x, dim=0, descending=True), x),
        "msort": (torch.msort, x),
        "rank_of_each": (rank_of_each, x),
        "topk": (lambda x: torch.topk(x, 3), x),
        "topk_smallest": (lambda x: torch.topk(x, 3, largest=False), x),
        "topk_first_dim": (lambda x: torch.topk(x, 2, dim=0), x),
        "topk_all": (lambda x: x.topk(7, dim=-1), x),
        "topk_one": (lambda x: x.topk(1), x),
        "topk_integers": (lambda i: torch.topk(i, 2), torch.tensor([[3, 9, 1], [7, 2, 8]])),
        "kthvalue": (lambda x: torch.kthvalue(x, 3, dim=1), x),
        "searchsorted": (lambda edges, x: torch.searchsorted(edges, x), edges, on_edges),
        "searchsorted_right": (lambda edges, x: torch.searchsorted(edges, x, right=True), edges, on_edges),
        "searchsorted_batched": (lambda edges, x: torch.searchsorted(edges, x), torch.sort(normal(2, 5)).values, normal(2, 3)),
        "bucketize": (lambda x, edges: torch.bucketize(x, edges), on_edges, edges),
        "bucketize_right": (lambda x, edges: torch.bucketize(x, edges, right=True), on_edges, edges),
        "keep_top_k": (lambda x: keep_top_k(x, 3), x),
        "keep_nucleus": (keep_nucleus, x),
        "isin_by_comparison": (lambda i, j: (i.unsqueeze(-1) == j).any(-1), ties, torch.tensor([0, 3])),
    }
    for name, (run, *inputs) in table.items():
        yield Case(f"sort_{name}" if not name.startswith("sort") else name, run, tuple(inputs))
