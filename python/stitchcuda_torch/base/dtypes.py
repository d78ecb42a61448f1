"""PyTorch's dtypes under our names, and under those of safetensors."""

import torch

NAMES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int16: "i16",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.bool: "bool",
}


def by_name(name):
    return next(dtype for dtype, known in NAMES.items() if known == name)


def name(dtype):
    return NAMES.get(dtype) or str(dtype).removeprefix("torch.")
