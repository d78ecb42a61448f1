"""Products of matrices, vectors and batches, and einsum in its many spellings."""
import torch
from torch import nn
from torch.nn import functional as F

from stitchcuda_torch.cases.case import Case


def einsum(equation):
    return lambda *operands: torch.einsum(equation, *operands)


def cases():
    generator = torch.Generator().manual_seed(105)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    torch.manual_seed(105)
    vector, row = normal(5), normal(7)
    table = {
        "matrix_matrix": (torch.matmul, normal(3, 5), normal(5, 7)),
        "mm": (torch.mm, normal(3, 5), normal(5, 7)),
        "odd_sizes": (torch.matmul, normal(17, 33), normal(33, 9)),
        "long_inner_dim": (torch.matmul, normal(3, 1031), normal(1031, 2)),
        "inner_dim_one": (torch.matmul, normal(6, 1), normal(1, 4)),
        "inner_dim_zero": (torch.matmul, torch.zeros(3, 0), torch.zeros(0, 4)),
        "no_rows": (torch.matmul, torch.zeros(0, 5), normal(5, 4)),
        "vector_vector": (torch.matmul, vector, normal(5)),
        "dot": (torch.dot, vector, normal(5)),
        "matrix_vector": (torch.matmul, normal(3, 5), vector),
        "vector_matrix": (torch.matmul, vector, normal(5, 3)),
        "mv": (torch.mv, normal(3, 5), vector),
        "batch_vector": (torch.matmul, normal(2, 3, 5), vector),
        "vector_batch": (torch.matmul, vector, normal(2, 5, 3)),
        "batch_matrix": (torch.matmul, normal(2, 3, 5), normal(5, 4)),
        "matrix_batch": (torch.matmul, normal(3, 5), normal(2, 5, 4)),
        "batch_batch": (torch.matmul, normal(2, 3, 5), normal(2, 5, 4)),
        "batch_broadcast": (torch.matmul, normal(2, 1, 3, 5), normal(4, 5, 2)),
        "four_dims": (lambda x, y: x @ y, normal(2, 3, 4, 5), normal(2, 3, 5, 2)),
        "four_dims_times_matrix": (torch.matmul, normal(2, 3, 4, 5), normal(5, 6)),
        "left_transposed": (lambda x, y: x.T @ y, normal(5, 3), normal(5, 4)),
        "right_transposed": (lambda x, y: x @ y.T, normal(3, 5), normal(4, 5)),
        "both_transposed": (lambda x, y: x.T @ y.T, normal(5, 3), normal(4, 5)),
        "input_not_contiguous": (torch.matmul, normal(5, 3).t(), normal(4, 5).t()),
        "gram_matrix": (lambda x: x.transpose(1, 2) @ x, normal(2, 4, 3)),
        "bmm": (torch.bmm, normal(2, 3, 5), normal(2, 5, 4)),
        "bmm_transposed": (lambda x, y: torch.bmm(x, y.transpose(1, 2)), normal(2, 3, 5), normal(2, 4, 5)),
        "baddbmm": (lambda c, x, y: torch.baddbmm(c, x, y, beta=0.5, alpha=-2.0), normal(2, 3, 4), normal(2, 3, 5), normal(2, 5, 4)),
        "baddbmm_broadcast": (torch.baddbmm, normal(1, 1, 4), normal(2, 3, 5), normal(2, 5, 4)),
        "addbmm": (torch.addbmm, normal(3, 4), normal(2, 3, 5), normal(2, 5, 4)),
        "addmm": (lambda c, x, y: torch.addmm(c, x, y, beta=0.3, alpha=1.7), normal(3, 4), normal(3, 5), normal(5, 4)),
        "addmm_bias_row": (torch.addmm, normal(4), normal(3, 5), normal(5, 4)),
        "addmv": (lambda c, x, y: torch.addmv(c, x, y, beta=2.0, alpha=0.5), normal(3), normal(3, 5), vector),
        "addr": (torch.addr, normal(5, 7), vector, row),
        "outer": (torch.outer, vector, row),
        "outer_promoted": (lambda a, b: torch.outer(a, b.long()) + torch.outer(a.half(), b).float(), vector, row),
        "ger_by_hand": (lambda u, v: u[:, None] * v[None, :], vector, row),
        "inner": (torch.inner, normal(3, 5), normal(4, 5)),
        "kron": (torch.kron, normal(2, 3), normal(3, 2)),
        "tensordot": (lambda x, y: torch.tensordot(x, y, dims=2), normal(2, 3, 4), normal(3, 4, 5)),
        "tensordot_named_dims": (lambda x, y: torch.tensordot(x, y, dims=([0, 2], [2, 0])), normal(2, 3, 4), normal(4, 5, 2)),
        "chain_matmul": (lambda x, y, z: torch.linalg.multi_dot([x, y, z]), normal(2, 5), normal(5, 3), normal(3, 4)),
        "matrix_power": (lambda x: torch.matrix_power(x, 3), normal(3, 3)),
        "cdist": (torch.cdist, normal(4, 3), normal(5, 3)),
        "cdist_one_batched": (lambda x, y: torch.cdist(x, y, p=1.0), normal(2, 4, 3), normal(2, 5, 3)),
        "triangular_product": (lambda x, y: torch.tril(torch.matmul(torch.tril(x), torch.tril(y))), normal(5, 5), normal(5, 5)),
        "upper_triangular_product": (lambda x, y: torch.triu(torch.matmul(torch.triu(x), torch.triu(y))), normal(5, 5), normal(5, 5)),
        "cross": (lambda x, y: torch.linalg.cross(x, y), normal(4, 3), normal(4, 3)),
        "vecdot": (lambda x, y: torch.linalg.vecdot(x, y), normal(4, 3), normal(4, 3)),
        "integers": (torch.matmul, torch.tensor([[1, -2], [3, 4]]), torch.tensor([[5, 6], [-7, 8]])),
        # Linear layers.
        "linear": (nn.Linear(5, 7), normal(3, 5)),
        "linear_no_bias": (nn.Linear(5, 7, bias=False), normal(3, 5)),
        "linear_four_dims": (nn.Linear(5, 3), normal(2, 3, 4, 5)),
        "linear_one_vector": (nn.Linear(5, 3), normal(5)),
        "linear_one_output": (nn.Linear(5, 1), normal(3, 5)),
        "linear_empty_batch": (nn.Linear(5, 3), torch.zeros(0, 5)),
        "linear_function": (F.linear, normal(3, 5), normal(4, 5), normal(4)),
        "linear_input_transposed": (lambda x, w: F.linear(x.transpose(1, 2), w), normal(2, 5, 3), normal(4, 5)),
        "bilinear": (nn.Bilinear(3, 4, 5), normal(2, 3), normal(2, 4)),
        "linear_with_tied_weight": (lambda x, w: F.linear(torch.relu(F.linear(x, w)), w.t()), normal(3, 5), normal(4, 5)),
        # Einsum.
        "einsum_inner": (einsum("i,i->"), vector, normal(5)),
        "einsum_outer": (einsum("i,j->ij"), vector, row),
        "einsum_matmul": (einsum("ik,kj->ij"), normal(3, 5), normal(5, 4)),
        "einsum_implicit_output": (einsum("ik,kj"), normal(3, 5), normal(5, 4)),
        "einsum_implicit_output_sorts_letters": (einsum("ba,cb"), normal(3, 5), normal(4, 3)),
        "einsum_transpose": (einsum("ij->ji"), normal(3, 5)),
        "einsum_sum": (einsum("ijk->j"), normal(2, 3, 4)),
        "einsum_batch": (einsum("bik,bkj->bij"), normal(2, 3, 5), normal(2, 5, 4)),
        "einsum_transposed_output": (einsum("bik,bjk->bji"), normal(2, 3, 5), normal(2, 4, 5)),
        "einsum_tensor_times_matrix": (einsum("bijl,lk->bijk"), normal(2, 3, 2, 5), normal(5, 4)),
        "einsum_attention_scores": (einsum("bqhd,bkhd->bhqk"), normal(2, 3, 2, 4), normal(2, 5, 2, 4)),
        "einsum_attention_values": (einsum("bhqk,bkhd->bqhd"), normal(2, 2, 3, 5), normal(2, 5, 2, 4)),
        "einsum_batch_letter_in_the_middle": (einsum("ibk,kbj->bij"), normal(3, 2, 5), normal(5, 2, 4)),
        "einsum_sums_a_letter_of_one_operand": (einsum("ik,kjx->ij"), normal(3, 5), normal(5, 4, 2)),
        "einsum_elementwise": (einsum("ij,ij->ij"), normal(3, 5), normal(3, 5)),
        "einsum_scale_rows": (einsum("ij,i->ij"), normal(3, 5), normal(3)),
        "einsum_three_operands": (einsum("ij,jk,kl->il"), normal(2, 3), normal(3, 4), normal(4, 5)),
        "einsum_bilinear_form": (einsum("bi,oij,bj->bo"), normal(2, 3), normal(5, 3, 4), normal(2, 4)),
        "einsum_three_elementwise": (einsum("bh,bhp,bn->bhpn"), normal(2, 3), normal(2, 3, 4), normal(2, 5)),
        "einsum_four_operands": (einsum("bcln,bcsn,bhcls,bcshp->bclhp"), normal(2, 2, 3, 4), normal(2, 2, 3, 4), normal(2, 2, 2, 3, 3), normal(2, 2, 3, 2, 3)),
        "einsum_ellipsis": (einsum("...ij,...jk->...ik"), normal(2, 3, 4, 5), normal(2, 3, 5, 2)),
        "einsum_ellipsis_broadcast": (einsum("...ij,jk->...ik"), normal(2, 3, 4, 5), normal(5, 2)),
        "einsum_ellipsis_sum": (einsum("...i->..."), normal(2, 3, 4)),
        "einsum_size_one_letter": (einsum("bik,bkj->bij"), normal(1, 3, 5), normal(1, 5, 4)),
        "einsum_relative_logits": (einsum("bhid,ijd->bhij"), normal(2, 2, 3, 4), normal(3, 5, 4)),
    }
    for name, (run, *inputs) in table.items():
        yield Case(f"matmul_{name}", run, tuple(inputs))
