"""Writes an exported program down as aten.json, without judging it (the format: src/import/README.md)."""

import operator
import os
import platform
import re

import torch
from torch.export.graph_signature import InputKind

from ..base.errors import TaskError
from ..task import encode, where
from ..task.encode import Reference, Subgraph
from .trace import data_dependent_fix

ROLES = {InputKind.PARAMETER: "parameter", InputKind.BUFFER: "buffer", InputKind.CONSTANT_TENSOR: "constant"}


def record(program, task_file):
    """(document, {data key: tensor})."""
    recorder = Recorder(task_file)
    weights = recorder.record_inputs(program)
    outputs = recorder.record_graph(program.graph_module)
    document = {
        "format": "stitchcuda-aten/1",
        "torch": torch.__version__.split("+")[0],
        "python": platform.python_version(),
        "name": os.path.splitext(os.path.basename(task_file))[0],
        "source": str(task_file),
        "values": recorder.values,
        "scalars": recorder.scalars,
        "nodes": recorder.nodes,
        "outputs": encode_outputs(outputs),
    }
    return document, weights


class Recorder:
    def __init__(self, task_file):
        self.task_file = os.path.abspath(task_file)
        self.values, self.scalars, self.nodes = [], [], []
        self.taken = set()
        self.results = {}  # fx node -> Reference, list of them, Subgraph, or a plain Python value
        self.storages = {}  # of what exists before the first node: storage -> descriptions of the tensors in it
        self.autocast = False  # inside a region of it

    # What exists before the first node.

    def record_inputs(self, program):
        nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
        weights = self.record_state(program, nodes)
        user_inputs = [spec for spec in program.graph_signature.input_specs if spec.kind not in ROLES]
        for index, spec in enumerate(user_inputs):
            if spec.kind != InputKind.USER_INPUT:
                raise TaskError("export", f"an input of kind {spec.kind.name} ({spec.arg.name}) is not supported")
            self.record_user_input(nodes[spec.arg.name], index)
        for number, sharing in enumerate(group for group in self.storages.values() if len(group) > 1):
            for value in sharing:
                value["memory"] = number
        return weights

    def describe(self, reference, role, tensor, **more):
        value = {"name": reference.name, "role": role, **encode.tensor(tensor), **more}
        self.values.append(value)
        if tensor.numel() and tensor.layout == torch.strided:
            self.storages.setdefault(tensor.untyped_storage()._cdata, []).append(value)

    def record_state(self, program, nodes):
        weights, keys = {}, {}
        for spec in program.graph_signature.input_specs:
            if spec.kind not in ROLES:
                continue
            tensor = program.state_dict.get(spec.target)
            tensor = program.constants[spec.target] if tensor is None else tensor
            reference = self.new_value(spec.target)
            key = keys.setdefault(identity(tensor, reference.name), reference.name)
            weights.setdefault(key, torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor)
            self.results[nodes[spec.arg.name]] = reference
            self.describe(reference, ROLES[spec.kind], tensor, data=key)
        return weights

    def record_user_input(self, node, index):
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            value = self.new_value(node.name)
            self.describe(value, "input", node.meta["val"], index=index)
        else:
            self.scalars.append({"index": index, "value": encode.argument(value)})
        self.results[node] = value

    # Nodes.

    def record_graph(self, graph_module):
        """Records every call; returns what the graph returns."""
        for node in graph_module.graph.nodes:
            if node.op == "get_attr":
                attribute = operator.attrgetter(node.target)(graph_module)
                self.results[node] = Subgraph(attribute) if isinstance(attribute, torch.fx.GraphModule) else attribute
            elif node.op == "output":
                return self.resolve(node.args[0])
            elif node.op == "call_function":
                self.record_call(node)

    def record_call(self, node):
        if node.target is operator.getitem:
            sequence, index = self.resolve(node.args)
            self.results[node] = sequence[index]
            return
        wrapped = wrapper(node, self.autocast)
        if wrapped:
            subgraph, arguments, self.autocast, before = *wrapped, self.autocast
            self.inline(node, *self.resolve((subgraph, arguments)))
            self.autocast = before
            return
        line = where.of_stack_trace(node.meta.get("stack_trace"), self.task_file)
        result = node.meta.get("val")
        if encode.is_symbolic(result):
            if node.users:
                operator_name = encode.operator_name(node.target)
                library = where.library_of_stack_trace(node.meta.get("stack_trace"), self.task_file)
                raise TaskError(
                    "data_dependent",
                    f"{operator_name} gives a size or a number that depends on the values of a tensor" + (f" (inside {library})" if library else ""),
                    line,
                    data_dependent_fix(operator_name),
                )
            return
        arguments = self.arguments(node)
        name, written = functional(node.target)
        more = {"written": written} if written else {}
        if self.autocast:
            more["autocast"] = True
        self.nodes.append(
            {"op": name, "args": arguments, "outputs": self.new_outputs(node, result), "where": line, "module": module_path(node), **more}
        )

    def new_outputs(self, node, result):
        """Names every result, and keeps the structure that getitem will ask for."""
        if result is None:
            return []
        several = isinstance(result, (list, tuple))
        outputs, references = [], []
        for i, value in enumerate(result if several else [result]):
            tensor = isinstance(value, torch.Tensor)
            references.append(self.new_value(f"{node.name}_{i}" if several else node.name) if tensor else None)
            outputs.append({"name": references[-1].name, **encode.tensor(value)} if tensor else None)
        self.results[node] = references if several else references[0]
        return outputs

    def inline(self, node, subgraph, arguments):
        placeholders = [n for n in subgraph.module.graph.nodes if n.op == "placeholder"]
        self.results.update(zip(placeholders, arguments))
        self.results[node] = self.record_graph(subgraph.module)

    def arguments(self, node):
        schema = getattr(node.target, "_schema", None)
        if schema is None:  # not an operator of a library: C++ refuses it by name
            return {str(i): encode.argument(self.resolve(value)) for i, value in enumerate(node.args)}
        arguments = {}
        for i, argument in enumerate(schema.arguments):
            if i < len(node.args):
                value = self.resolve(node.args[i])
            elif argument.name in node.kwargs:
                value = self.resolve(node.kwargs[argument.name])
            else:
                value = encode.default(argument)
            arguments[argument.name] = encode.argument(value)
        return arguments

    def resolve(self, value):
        """Puts in the place of fx nodes what they stand for."""
        if isinstance(value, torch.fx.Node):
            return self.results.get(value)
        if isinstance(value, (list, tuple)):
            return [self.resolve(item) for item in value]
        return value

    def new_value(self, name):
        candidate, count = name, 0
        while candidate in self.taken:
            count += 1
            candidate = f"{name}_{count}"
        self.taken.add(candidate)
        return Reference(candidate)


def identity(tensor, name):
    """Tied weights are the same bytes seen the same way; empty tensors have no bytes to share."""
    if tensor.numel() == 0:
        return name
    return tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tuple(tensor.stride())


def wrapper(node, autocast):
    """(subgraph, arguments, whether autocast is on in it) of a region that is part of the graph; None for everything else."""
    name = encode.operator_name(node.target)
    if name == "higher_order.wrap_with_set_grad_enabled":
        return node.args[1], node.args[2:], autocast
    if name == "higher_order.wrap_with_autocast":
        device, _, enabled, _, subgraph, *arguments = node.args
        # The model was traced on the CPU, where a GPU's autocast does nothing.
        return subgraph, arguments, enabled if device == "cpu" else autocast
    return None


def functional(target):
    """(name, arguments that are written): torch.add(a, b, out=c) is a + b, written to c."""
    name, schema = encode.operator_name(target), getattr(target, "_schema", None)
    written = [argument.name for argument in schema.arguments if argument.is_out] if schema else []
    if not written:
        return name, []
    own = [(argument.name, str(argument.type)) for argument in schema.arguments if not argument.is_out]
    packet = target.overloadpacket
    for overload in packet.overloads():
        other = getattr(packet, overload)
        if [(argument.name, str(argument.type)) for argument in other._schema.arguments] == own:
            return encode.operator_name(other), written
    return name, written


def module_path(node):
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return ""
    path = list(stack.values())[-1][0]
    return re.sub(r"@\d+", "", path)  # @1 marks a second call of the same module


CONSTANTS = (type(None), bool, int, float, str)  # such an output is the same in every call, and no part of the graph


def encode_outputs(results):
    outputs = []
    for i, value in enumerate(results):
        if isinstance(value, Reference):
            outputs.append({"value": value.name})
        elif not isinstance(value, CONSTANTS):
            raise TaskError("export", f"output {i} of forward is {value!r}, not a tensor", "", "Return tensors only.")
    return outputs
