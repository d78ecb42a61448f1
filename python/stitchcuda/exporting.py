"""A live module becomes a graph, in this process: its operators, its weights by name, and how it is called."""

import dataclasses
import hashlib
import inspect
import json

import torch

from stitchcuda_torch.base.errors import TaskError
from stitchcuda_torch.export import live, record, trace
from stitchcuda_torch.task import structure

from . import trees
from .errors import StitchError

RANDOM = ("bernoulli", "rand", "randn", "randint", "randperm", "multinomial", "normal", "uniform", "exponential")
DROPOUT = ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout", "native_dropout")


@dataclasses.dataclass
class Exported:
    name: str
    source: str  # the file of the model's class
    program: torch.export.ExportedProgram
    document: dict  # aten.json
    weights: dict  # name: tensor, each once
    call: dict  # trees.py
    dropouts: int
    batch_statistics: int
    draws: bool

    def constants(self):
        """Tensors that no attribute of the model holds."""
        names = {value["data"] for value in self.document["values"] if value["role"] == "constant"}
        return {name: self.weights[name] for name in names}

    def hash(self):
        """Of what a program computes: the graph and its constants, not the weights."""
        # Where a node stands in a file is for readers.
        document = {
            **{key: value for key, value in self.document.items() if key not in ("source", "name", "torch", "python")},
            "nodes": [{**node, "where": ""} for node in self.document["nodes"]],
        }
        sum = hashlib.sha256(json.dumps(document, sort_keys=True).encode())
        for name, tensor in sorted(self.constants().items()):
            sum.update(name.encode() + tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
        return sum.hexdigest()


def export(model, arguments, keywords, name=None):
    """arguments, keywords: of one call, with real tensors; neither they nor the model are changed."""
    source = source_file(model)
    structure.register((arguments, keywords))
    plain = plain_tensors(model)
    try:
        given = tuple(arguments), dict(keywords)
        program = trace.export(
            model, trace.as_fake(given), source, "of args and kwargs", lambda i: torch.utils._pytree.tree_map(live.draw_like, given) if i else given
        )
        document, weights = record.record(program, source)
        call = structure.describe(program, trees.LiveDescriber())
    except TaskError as error:
        raise as_stitch_error(error) from error
    finally:
        for module, attribute, value in plain:
            module._buffers.pop(attribute, None)
            module._non_persistent_buffers_set.discard(attribute)
            setattr(module, attribute, value)
    document["name"] = name or identifier(type(model).__name__)
    operators = [(node["op"].split(".")[1], node["args"]) for node in document["nodes"]]
    dropouts = sum(active_dropout(name, arguments) for name, arguments in operators)
    return Exported(
        document["name"],
        source,
        program,
        document,
        weights,
        call,
        dropouts,
        sum(name == "batch_norm" and bool(arguments.get("training")) for name, arguments in operators),
        dropouts > 0 or any(name.rstrip("_").removesuffix("_like") in RANDOM for name, _ in operators),
    )


def as_stitch_error(error):
    where = f" ({error.where})" if error.where else ""
    return StitchError(f"the model cannot become a graph: {error.message}{where}", error.fix)


def active_dropout(name, arguments):
    if name.rstrip("_") in DROPOUT:
        return bool(arguments.get("train")) and arguments.get("p") != 0
    if name == "scaled_dot_product_attention":
        return bool(arguments.get("dropout_p"))
    return name in ("lstm", "gru", "rnn_tanh", "rnn_relu") and bool(arguments.get("dropout")) and bool(arguments.get("train"))


def plain_tensors(model):
    """[(module, attribute, tensor)]: what trace.export turns into buffers while it works."""
    return [
        (module, name, value) for module in model.modules() for name, value in vars(module).items() if type(value) is torch.Tensor and "." not in name
    ]


def source_file(model):
    try:
        return inspect.getsourcefile(type(model)) or "model.py"
    except (TypeError, OSError):
        return "model.py"


def identifier(name):
    return "".join(c if c.isalnum() and c.isascii() else "_" for c in name) or "model"


def find_weight(module, name):
    """The tensor of a dotted name, wherever the module keeps it; None: nowhere."""
    *parents, leaf = name.split(".")
    for part in parents:
        module = module._modules.get(part) if isinstance(module, torch.nn.Module) else None
        if module is None:
            return None
    for place in (module._parameters, module._buffers, vars(module)):
        if isinstance(place.get(leaf), torch.Tensor):
            return place[leaf]
    return None


def places_of(module, tensors):
    """[(dictionary, key, object)]: wherever the module keeps one of the tensors, and the modules on the way there. As long as these
    are the same, no weight was replaced."""
    wanted, found, ways = {id(tensor) for tensor in tensors}, [], {}

    def visit(module):
        """Whether the module, or one below it, keeps any of them."""
        if id(module) in ways:
            return ways[id(module)]
        ways[id(module)] = False
        before = len(found)
        for kept in (module._parameters, module._buffers, {} if hasattr(type(module), "_long_way") else vars(module)):
            found.extend((kept, name, value) for name, value in kept.items() if id(value) in wanted and isinstance(value, torch.Tensor))
        for name, child in module._modules.items():
            if child is not None and visit(child):
                found.append((module._modules, name, child))
        ways[id(module)] = len(found) > before
        return ways[id(module)]

    visit(module)
    return found


def ties_of(module):
    """[[name, …]]: parameters that are one tensor under several names."""
    names = {}
    for name, tensor in module.named_parameters(remove_duplicate=False):
        names.setdefault(id(tensor), []).append(name)
    return [group for group in names.values() if len(group) > 1]
