"""What forward returned, taken over: checked to be plain tensors of the promised types, and copied at once."""

import torch

from . import dtypes

TENSOR, empty, copy, fill = torch.Tensor, torch.empty, torch._C.TensorBase.copy_, torch._C.TensorBase.fill_


def take(result, types, device, describe=dtypes.name):
    """(copies, None), or (None, what is wrong). types: [(dtype, shape)]."""
    returned = list(result) if type(result) in (tuple, list) else [result]
    returned = [tensor for tensor in returned if tensor is not None]
    if len(returned) != len(types):
        return None, f"{len(returned)} tensors came back; {len(types)} are expected"
    copies = []
    for i, (tensor, (dtype, shape)) in enumerate(zip(returned, types)):
        if type(tensor) is not TENSOR or tensor.layout != torch.strided:
            return None, f"output {i} is of type {type(tensor).__name__}, not a plain tensor"
        seen = (tensor.dtype, tuple(tensor.shape), tensor.device.type)
        if seen != (dtype, shape, device.type):
            return None, (f"output {i} is {describe(seen[0])}{list(seen[1])} on {seen[2]}; "
                          f"{describe(dtype)}{list(shape)} on {device.type} is expected")
        own = empty(shape, dtype=dtype, device=device)
        copy(own, tensor.detach())
        copies.append(own)
    return copies, None


def spoil(result, kept):
    """Overwrites what the last call returned, except memory that is shared with the inputs or the model's state."""
    shared = {tensor.untyped_storage().data_ptr() for tensor in kept}
    returned = list(result) if type(result) in (tuple, list) else [result]
    for tensor in returned:
        if type(tensor) is TENSOR and tensor.untyped_storage().data_ptr() not in shared and not is_expanded(tensor):
            poison_value = float("nan") if tensor.is_floating_point() else True if tensor.dtype == torch.bool else 85
            fill(tensor.detach(), poison_value)


def is_expanded(tensor):
    return any(stride == 0 and size > 1 for stride, size in zip(tensor.stride(), tensor.shape))
