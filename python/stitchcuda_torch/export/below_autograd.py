"""A second way to export: below autograd, where derivatives and vmap have become plain operators.

torch.export records what forward calls, above autograd: torch.autograd.grad reads what the backward pass saved, which is no part of
that record, and torch.vmap stays a pair of brackets around operators of other shapes. One level deeper both are done. Everything
else is better recorded above: nn.Linear is one operator there.
"""

import torch
from torch._higher_order_ops.flex_attention import math_attention
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention import flex_attention
from torch.utils import _pytree as pytree

from .replaced import replaced


def is_needed(program):
    """Whether the record above autograd is none of the whole model."""
    saved = any(isinstance(constant, FakeTensor) for constant in program.constants.values())
    return saved or any(
        getattr(node.target, "__module__", "").startswith("torch._functorch")
        for module in program.graph_module.modules()
        if isinstance(module, torch.fx.GraphModule)
        for node in module.graph.nodes
        if node.op == "call_function"
    )


def export(model, inputs):
    """inputs: (positional, keyword), fake."""
    leaves, tree = pytree.tree_flatten(inputs)
    state = names_of_state(model)
    result = None

    def flat(*tensors):
        nonlocal result
        positional, keyword = pytree.tree_unflatten(tensors[len(state) :], tree)
        found = torch.func.functional_call(model, dict(zip(state, tensors)), tuple(positional), keyword)
        outputs, result = pytree.tree_flatten(found)
        return outputs

    fake = next((leaf.fake_mode for leaf in leaves if isinstance(leaf, FakeTensor)), torch._subclasses.FakeTensorMode())
    weights = [fake.from_tensor(tensor) for tensor in tensors_of(model, state)]
    backward = {op: rule for op, rule in torch._decomp.decomposition_table.items() if "_backward" in str(op)}
    below = make_fx(flat, decomposition_table=backward, tracing_mode="fake", _allow_non_fake_inputs=True)(*weights, *leaves)
    below.graph.eliminate_dead_code()
    below.recompile()

    def forward(*positional, **keyword):
        outputs = below(*tensors_of(model, state), *pytree.tree_leaves((positional, keyword)))
        return pytree.tree_unflatten(outputs, result)

    model.forward = forward  # what was recorded, in the model's place: exported again with its names
    try:
        return torch.export.export(model, *inputs, strict=False)
    finally:
        del model.forward


def names_of_state(model):
    return [name for name, _ in (*model.named_parameters(), *model.named_buffers())]


def tensors_of(model, names):
    parts = [(model.get_submodule(module), name) for module, _, name in (name.rpartition(".") for name in names)]
    return [getattr(module, name) for module, name in parts]


def attention_written_out():
    """flex_attention is an operator around the user's own function, and written out it is vmap over that function."""
    return replaced(flex_attention, "flex_attention_hop", math_attention)
