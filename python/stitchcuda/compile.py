"""torch.compile(model, backend="stitchcuda"): each graph that Dynamo finds becomes a program, for inference.

Dynamo hands over a graph whose parameters are inputs like any other. They are told apart here, so that a program packs
them once. A graph gets its program at its first call, when there are real tensors; calls with other shapes get one
each. What can't be a program (gradients are wanted, an operator isn't known) runs in PyTorch, and it is said why.
"""

import difflib
import inspect
import operator
import warnings

import torch
from torch import nn

from . import trees
from .errors import StitchError
from .exporting import identifier
from .fast_paths import copied, opened
from .module import form_of
from .optimizing import CHOICES, check_choices, optimize

VARIANTS = 8


def backend(graph, example_inputs, *, options=None, mode=None):
    """options: keyword arguments of stitchcuda.optimize."""
    check_options(options or {})
    return Compiled(graph, dict(options or {}))


def check_options(options):
    """At once: a graph that can't be a program runs in PyTorch, a misspelt option must not."""
    known = [name for name, parameter in inspect.signature(optimize).parameters.items() if parameter.kind is parameter.KEYWORD_ONLY]
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise StitchError(f"stitchcuda.optimize has no option '{name}'", f"did you mean '{near[0]}'?" if near else f"one of: {', '.join(known)}")
    check_choices(**{name: value for name, value in options.items() if name in CHOICES})


class Compiled:
    def __init__(self, graph, options):
        self.graph, self.options = graph, {"other_shapes": "pytorch", **options}
        self.placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
        self.static = [i for i, node in enumerate(self.placeholders) if is_weight(node)]
        self.sizes = [i for i, node in enumerate(self.placeholders) if isinstance(value_of(node), torch.SymInt)]
        # With dynamic=True, Dynamo hands a model's own numbers over as tensors: to a program they are constants.
        self.numbers = [i for i, node in enumerate(self.placeholders) if i not in self.static and is_number(node)]
        self.dynamic = [i for i in range(len(self.placeholders)) if i not in {*self.static, *self.sizes, *self.numbers}]
        self.weights_of, self.given_of = picker(self.static), picker(self.dynamic)
        self.symbols = symbols_of([value_of(self.placeholders[i]) for i in self.dynamic])
        self.programs, self.families, self.said, self.last = {}, [], set(), None

    def __call__(self, *arguments):
        if torch.is_grad_enabled() and any(isinstance(a, torch.Tensor) and a.requires_grad for a in arguments):
            why = "gradients may be wanted: grad mode is on and weights or inputs require them"
            self.say("grad", f"this graph runs in PyTorch: {why}. Call the model under torch.inference_mode() or torch.no_grad()")
            return self.graph(*arguments)
        if self.last is not None:  # most calls are like the one before
            module, fast = self.last
            call = fast._call
            if call is not None and not self.numbers and all(map(operator.is_, self.weights_of(arguments), module.weights)):
                result = call(*self.given_of(arguments))
                if result is not NotImplemented:
                    return result
        return self.find(arguments)

    def find(self, arguments):
        given = self.given_of(arguments)
        numbers = tuple(arguments[i].item() for i in self.numbers)
        form = form_of((given, numbers))
        found = next((each for each in self.families if each[0].numbers == numbers and takes(each[1], given)), None)
        if found is None and form not in self.programs:
            self.programs[form] = self.make(arguments, given)
            if self.programs[form] is not PYTORCH and self.programs[form][1].folder and self.programs[form][1].folder.manifest.get("sizes"):
                self.families.append(self.programs[form])
        found = found or self.programs[form]
        if found is PYTORCH:
            return self.graph(*arguments)
        self.last = module, fast = found
        module.take(self.weights_of(arguments), fast)
        return fast(*given)

    def make(self, arguments, given):
        if len(self.programs) >= VARIANTS:
            self.say("many", f"more than {VARIANTS} shapes: the others run in PyTorch")
            return PYTORCH
        if not any(node.op not in ("placeholder", "output") for node in self.graph.graph.nodes):
            return PYTORCH  # nothing is computed
        shown = {i: self.symbols.get(str(value_of(self.placeholders[i])), [None])[0] for i in self.sizes}
        if None in shown.values():
            self.say("sizes", "this graph runs in PyTorch: it takes a size that none of its tensors shows")
            return PYTORCH
        numbers = {i: arguments[i].item() for i in self.numbers}
        graph = with_numbers(opened(self.graph), numbers)
        module = Lifted(graph, self.static, self.weights_of(arguments), [self.placeholders[i] for i in self.static], shown, numbers)
        options = {"progress": False, "name": "compiled_" + self.tag(), **self.options}
        try:
            with torch.no_grad():
                if ranges := self.ranges(given):
                    try:
                        return module, optimize(module, tuple(given), dynamic_shapes=ranges, **options)
                    except StitchError as error:
                        self.say("range", f"a program for one shape each: {error}")
                return module, optimize(module, tuple(given), **options)
        except (StitchError, TypeError) as error:
            self.say("refused", f"this graph runs in PyTorch: {error}")
            return PYTORCH

    def ranges(self, given):
        """dynamic_shapes of the graph's symbols; where Dynamo knows no largest size, four times the one seen."""
        out = [{} for _ in given]
        for name, places in self.symbols.items():
            seen = given[places[0][0]].shape[places[0][1]]
            least, most = range_of(value_of(self.placeholders[self.dynamic[places[0][0]]]).shape[places[0][1]])
            for argument, dim in places:
                out[argument][dim] = (name, min(least, seen), most or max(4 * seen, 64))
        return tuple(out) if self.symbols else None

    def tag(self):
        """The name of what the graph computes last, for people."""
        called = [node for node in self.graph.graph.nodes if node.op.startswith("call")]
        return identifier(called[-1].name) if called else "graph"

    def say(self, about, text):
        if about not in self.said:
            self.said.add(about)
            warnings.warn("stitchcuda: " + text, stacklevel=2)


PYTORCH = object()


def picker(places):
    """The arguments at these places, as a tuple."""
    if len(places) > 1:
        return operator.itemgetter(*places)
    return lambda arguments: tuple(arguments[i] for i in places)


class Lifted(nn.Module):
    """The graph with its weights as weights."""

    def __init__(self, graph, places, weights, placeholders, shown=None, numbers=None):
        """shown: {place of a size: (argument, dimension) that shows it}; numbers: {place: value}, in the graph already."""
        super().__init__()
        self.shown, self.inlined = shown or {}, set(numbers or {})
        self.numbers = tuple((numbers or {}).values())
        self.graph, self.places, self.count = graph, places, sum(node.op == "placeholder" for node in graph.graph.nodes)
        self.names, self.__dict__["weights"] = [], tuple(weights)
        for i, (weight, node) in enumerate(zip(weights, placeholders)):
            name = f"{weight_name(node)[:80]}_{i}"
            self.names.append(name)
            if isinstance(weight, nn.Parameter):
                self.register_parameter(name, weight)
            else:
                self.register_buffer(name, weight)

    def forward(self, *given):
        tensors, names = iter(given), dict(zip(self.places, self.names))

        def argument(i):
            if i in self.shown:
                at, dim = self.shown[i]
                return given[at].shape[dim]
            if i in self.inlined:
                return None
            return getattr(self, names[i]) if i in names else next(tensors)

        return self.graph(*[argument(i) for i in range(self.count)])

    def take(self, weights, fast):
        """Dynamo passes the weights with every call. Replaced tensors are noticed here, by identity; changed ones by the program."""
        self.__dict__["weights"] = tuple(weights)
        for name, weight in zip(self.names, weights):
            place = self._parameters if name in self._parameters else self._buffers
            if place[name] is not weight:
                place[name] = weight
                fast._forget()


def value_of(node):
    return node.meta.get("example_value", node.meta.get("val"))


def is_number(node):
    value = value_of(node)
    return isinstance(value, torch.Tensor) and value.dim() == 0 and bool(node.users) and all(is_item(user) for user in node.users)


def is_item(node):
    return node.op == "call_method" and node.target == "item"


def with_numbers(graph, numbers):
    if not numbers:
        return graph
    graph = copied(graph)
    placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
    for i, number in numbers.items():
        for user in list(placeholders[i].users):
            user.replace_all_uses_with(number)
            graph.graph.erase_node(user)
    graph.recompile()
    return graph


def symbols_of(values):
    """{symbol: [(argument, dimension), …]} of the tensors' sizes."""
    out = {}
    for i, value in enumerate(values):
        for dim, size in enumerate(value.shape if isinstance(value, torch.Tensor) else ()):
            if isinstance(size, torch.SymInt) and str(size).isidentifier():
                out.setdefault(str(size), []).append((i, dim))
    return out


def range_of(size):
    """(least, most) that Dynamo was told (mark_dynamic); most is None where it wasn't."""
    known = size.node.shape_env.var_to_range.get(size.node.expr)
    if known is None:
        return 1, None
    # Dynamo makes other graphs of 0 and 1.
    return 1 if int(known.lower) <= 2 else int(known.lower), int(known.upper) if str(known.upper).isdigit() and known.upper < 1 << 30 else None


def takes(fast, given):
    try:
        fast._binding.ranges.shown(given)
        return True
    except trees.OtherCall:
        return False


def is_weight(node):
    kind = node.meta.get("tensor_dict", {}).get("_dynamo_static_input_type")
    value = value_of(node)
    return kind is not None or isinstance(value, nn.Parameter)


def weight_name(node):
    name = node.name.removeprefix("l_self_").strip("_")
    for word in ("modules_", "parameters_", "buffers_"):
        name = name.replace(word, "")
    return identifier(name)
