"""Matrices taken apart, and functions of probability."""
import torch

from stitchcuda_torch.cases.case import Case


def cases():
    generator = torch.Generator().manual_seed(135)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    def square(n, *batch):
        return normal(*batch, n, n) + 3 * torch.eye(n)

    def positive(x):
        return x @ x.mT + torch.eye(x.shape[-1])

    yield Case("inverse", lambda x, y: (torch.linalg.inv(x), torch.inverse(y)), (square(5, 2), torch.tensor([[0.0, 1, 2], [3, 0, 1], [1, 1, 0]])))
    yield Case("solve", lambda a, b, v: (torch.linalg.solve(a, b), torch.linalg.solve(a[0], v), torch.linalg.solve(a, b.mT, left=False)), (square(5, 2), normal(2, 5, 3), normal(5)))
    yield Case("cholesky", lambda x, b: (torch.linalg.cholesky(positive(x)), torch.linalg.cholesky(positive(x), upper=True), torch.cholesky_solve(
        b, torch.linalg.cholesky(positive(x))), torch.cholesky_inverse(torch.linalg.cholesky(positive(x)))), (normal(2, 5, 5), normal(2, 5, 2)))
    yield Case("triangular", lambda a, b: (torch.linalg.solve_triangular(a.tril(), b, upper=False), torch.linalg.solve_triangular(
        a.triu(), b.mT, upper=True, unitriangular=True, left=False)), (square(5), normal(5, 2)))
    yield Case("qr", lambda x, y: (*torch.linalg.qr(x), *torch.linalg.qr(y), *torch.linalg.qr(y.mT, mode="complete")), (normal(2, 6, 4), normal(4, 6)))
    yield Case("determinant", lambda x: (torch.linalg.det(x), *torch.linalg.slogdet(x), torch.logdet(positive(x))), (square(5, 2),))
    yield Case("lu", lambda x: (*torch.linalg.lu(x), *torch.linalg.lu_factor(x)), (square(4, 2),))
    yield Case("exponential", torch.matrix_exp, (normal(4, 4),))
    x = torch.tensor([0.3, 1.0, 2.5, 7.25, 30.0, -0.5, -3.2])
    yield Case("gamma", lambda x: (torch.lgamma(x), torch.digamma(x), torch.mvlgamma(x.abs() + 1, 3)), (x,))
    yield Case("normal", lambda x: (torch.erfinv(x), torch.special.ndtr(x)), (torch.tensor([0.0, 0.1, -0.7, 0.999, -0.99999, 1.0, -1.0]),))
