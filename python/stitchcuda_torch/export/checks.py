"""What a model computes only to check its inputs, as transformers counts image tokens: no part of the program.

A program is called with inputs that PyTorch accepts. Such a check reads values on the host, and a program never does. Results of a
size that depends on values, which nothing reads (selected.py computes them in another way), are no part of it either.
"""

import operator

import torch

from ..task import encode

ASSERTIONS = {
    torch.ops.aten._assert_scalar.default,
    torch.ops.aten.sym_constrain_range.default,
    torch.ops.aten.sym_constrain_range_for_size.default,
    torch.ops.aten._assert_async.default,
    torch.ops.aten._assert_async.msg,
    torch.ops.aten._assert_tensor_metadata.default,
}
# What selected.py keeps of a tensor in case that its rows are asked for.
COPIES = {torch.ops.aten.clone.default, torch.ops.aten.reshape.default, torch.ops.aten.expand.default}


def erase_checks(program):
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            for node in nodes_of_checks(module.graph):
                module.graph.erase_node(node)
            module.recompile()


def has_unknown_sizes(program):
    """Whether results are left whose sizes or numbers depend on values."""
    return any(node.users and encode.is_symbolic(node.meta.get("val")) for node in program.graph.nodes if node.op == "call_function")


def nodes_of_checks(graph):
    """The nodes of an fx graph whose results nothing but assertions read, and the assertions; readers first."""
    found = {}
    for node in reversed(graph.nodes):
        if node.op != "call_function":
            continue
        unread = is_read_by(node, found) if node.users else node.target in COPIES or encode.is_symbolic(node.meta.get("val"))
        if node.target in ASSERTIONS or unread and is_pure(node.target):
            found[node] = None
    return found


def is_read_by(node, readers):
    return all(user in readers for user in node.users)


def is_pure(target):
    if isinstance(target, torch._ops.OpOverload):
        return not target._schema.is_mutable
    return getattr(target, "__module__", "") in (operator.eq.__module__, "math", "torch", "torch.fx.experimental.symbolic_shapes")
