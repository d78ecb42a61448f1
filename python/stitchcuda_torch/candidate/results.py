"""What forward returned, taken over: checked to be plain tensors of the promised types, and copied at once."""

import dataclasses
import math

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ..base import dtypes

TENSOR, empty, copy, fill, detach = torch.Tensor, torch.empty, *(getattr(torch._C.TensorBase, name) for name in ("copy_", "fill_", "detach"))


def take(result, types, device, describe=dtypes.name):
    """(copies, None), or (None, what is wrong). types: [(dtype, shape)]."""
    returned, wrong = checked(result, types, device, describe)
    return (None, wrong) if wrong else ([copied(tensor) for tensor in returned], None)


def copied(tensor):
    own = empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)
    copy(own, tensor)
    return own


def checked(result, types, device, describe=dtypes.name):
    """The same, not copied."""
    returned = [tensor for tensor in flat(result) if tensor is not None]
    if len(returned) != len(types):
        return None, f"{len(returned)} tensors came back; {len(types)} are expected"
    for i, (tensor, (dtype, shape)) in enumerate(zip(returned, types)):
        if type(tensor) is not TENSOR or tensor.layout != torch.strided:
            return None, f"output {i} is of type {type(tensor).__name__}, not a plain tensor"
        seen = (tensor.dtype, tuple(tensor.shape), tensor.device.type)
        if seen != (dtype, shape, device.type):
            return None, (
                f"output {i} is {describe(seen[0])}{list(seen[1])} on {seen[2]}; {describe(dtype)}{list(shape)} on {device.type} is expected"
            )
    return [detach(tensor) for tensor in returned], None


def flat(result):
    """What a list, tuple, dict or dataclass holds, in its order. Its own methods are not asked."""
    if isinstance(result, (list, tuple)):
        parts = (list if isinstance(result, list) else tuple).__iter__(result)
    elif isinstance(result, dict):
        parts = dict.values(result)
    elif dataclasses.is_dataclass(result) and not isinstance(result, type):
        parts = [vars(result).get(field.name) for field in dataclasses.fields(result)]
    else:
        return [result]
    return [leaf for part in parts for leaf in flat(part)]


def spoil(result, kept):
    """Overwrites what the last call returned, except memory that is shared with the inputs or the model's state. Returns weak
    references to the memory that it overwrote."""
    spoiled = []
    shared = {tensor.untyped_storage().data_ptr() for tensor in kept}
    for tensor in flat(result):
        if type(tensor) is TENSOR and tensor.untyped_storage().data_ptr() not in shared and not is_expanded(tensor):
            poison_value = float("nan") if tensor.is_floating_point() else True if tensor.dtype == torch.bool else 85
            fill(detach(tensor), poison_value)
            spoiled.append(StorageWeakRef(tensor.untyped_storage()))
    return spoiled


def is_spoiled(result, spoiled):
    """Whether a result is the memory of an earlier one, as spoil() left it: nothing was computed into it since."""
    return any(
        type(tensor) is TENSOR
        and tensor.is_floating_point()
        and bool(torch.isnan(tensor).all())
        and any(not ref.expired() and ref == StorageWeakRef(tensor.untyped_storage()) for ref in spoiled)
        for tensor in flat(result)
    )


def is_expanded(tensor):
    return any(stride == 0 and size > 1 for stride, size in zip(tensor.stride(), tensor.shape))


SMALL = 512 << 10  # below a MiB, PyTorch's CUDA allocator keeps blocks in a pool of their own
SLACK = 64 << 20
BYTES = {"nan": 255, "finite": 0x41}  # the second: 12 in FP32, 2.6 in fp16


def free_memory(types, device, peak, byte=BYTES["nan"]):
    """peak: bytes that a call took at its peak, so far; a call finds that much ready, and need not ask the driver."""
    if device.type == "cpu":  # the C library hands out last what was freed last: the best that can be done
        blocks = [torch.empty(shape, dtype=dtype) for dtype, shape in types for _ in range(3)]
    else:
        wanted = SLACK + max(peak, sum(math.prod(shape) * dtype.itemsize for dtype, shape in types))
        wanted = max(wanted, torch.cuda.memory_reserved() - torch.cuda.memory_allocated())
        torch.cuda.empty_cache()
        free, _ = torch.cuda.mem_get_info()
        sizes = [min(wanted, int(free * 0.8))] + [SMALL] * 32
        blocks = [torch.empty(size, dtype=torch.uint8, device=device) for size in sizes]
    for block in blocks:
        block.view(-1).view(torch.uint8).fill_(byte)
