"""PyTorch against itself before KernelBench's evaluator: the task's own model as a candidate, computed in another way.

Whatever is rejected of these shows that the check asks for one rounding among many that are as good: cuDNN's other algorithms,
another layout, another order of the batch, or more accuracy than the reference has.
"""

WAYS = {"search": "cuDNN times its algorithms and takes the fastest", "deterministic": "cuDNN's deterministic algorithms",
        "channels_last": "images and filters channels last", "reversed": "the batch in reverse order", "fp32": "no TF32", "float64": "float64"}

CANDIDATE = '''
import torch


class ModelNew(Model):
    WAY = {way!r}

    def forward(self, *inputs):
        cudnn, way = torch.backends.cudnn, self.WAY
        before = cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32
        cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32 = way == "search", way == "deterministic", way not in ("fp32", "float64")
        try:
            if way == "channels_last":
                formats = {4: torch.channels_last, 5: torch.channels_last_3d}
                for weight in self.parameters():
                    weight.data = weight.data.to(memory_format=formats.get(weight.dim(), torch.preserve_format))
                inputs = [x.to(memory_format=formats.get(x.dim(), torch.preserve_format)) for x in inputs]
            if way == "reversed":
                return super().forward(*(x.flip(0) for x in inputs)).flip(0)
            if way == "float64":
                self.double()
                return super().forward(*(x.double() if x.is_floating_point() else x for x in inputs)).float()
            return super().forward(*inputs)
        finally:
            cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32 = before
'''


def candidate(way):
    if way not in WAYS:
        raise ValueError(f"unknown way {way!r}; there are: {', '.join(WAYS)}")
    return CANDIDATE.replace("{way!r}", repr(way))
