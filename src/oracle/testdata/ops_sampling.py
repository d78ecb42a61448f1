"""Images read between their pixels."""
import torch
import torch.nn.functional as F

from stitchcuda_torch.cases.case import Case


def sampled(mode, padding, corners):
    return lambda x, grid: F.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=corners)


def cases():
    generator = torch.Generator().manual_seed(133)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    grid = 1.3 * normal(2, 4, 3, 2)
    for mode, padding, corners in (("bilinear", "zeros", False), ("bilinear", "reflection", True), ("nearest", "border", False),
                                   ("bicubic", "zeros", True), ("bicubic", "reflection", False)):
        yield Case(f"grid_{mode}_{padding}", sampled(mode, padding, corners), (normal(2, 3, 5, 6), grid))
    yield Case("grid_volume", sampled("bilinear", "border", False), (normal(1, 2, 4, 5, 6), normal(1, 3, 2, 4, 3)))
    yield Case("affine_grid", lambda x, a: F.grid_sample(x, F.affine_grid(a, x.shape, align_corners=False), align_corners=False), (normal(2, 3, 6, 7), normal(2, 2, 3)))
    yield Case("affine_grid_volume", lambda a: F.affine_grid(a, (2, 3, 4, 5, 6), align_corners=True), (normal(2, 3, 4),))
    for mode, size, corners in (("bilinear", (5, 7), False), ("bicubic", (20, 5), True), ("bicubic", (6, 17), False)):
        yield Case(f"antialias_{mode}_{size[0]}", lambda x, mode=mode, size=size, corners=corners: F.interpolate(
            x, size=size, mode=mode, antialias=True, align_corners=corners), (normal(1, 2, 13, 11),))
    try:
        import torchvision.ops as vision
    except ImportError:
        return
    boxes = torch.tensor([[0, 1.0, 2, 9, 11], [1, 0, 0, 15, 15], [0, -3, -2, 5, 30]])
    yield Case("roi_align", lambda x, b: (vision.roi_align(x, b, (3, 2), 0.5, 2, True), vision.roi_align(x, b, 2, 0.5, 3, False)), (normal(2, 3, 8, 8), boxes))
    yield Case("deform_conv", lambda x, o, w, b: vision.deform_conv2d(x, o, w, b, padding=1), (normal(2, 4, 7, 8), normal(2, 18, 7, 8), normal(5, 4, 3, 3), normal(5)))
    yield Case("deform_conv_masked", lambda x, o, w, m: vision.deform_conv2d(x, o, w, None, stride=2, padding=(1, 0), dilation=(1, 2), mask=m),
               (normal(2, 4, 7, 8), normal(2, 24, 4, 3), normal(6, 2, 3, 2), normal(2, 12, 4, 3).sigmoid()))
