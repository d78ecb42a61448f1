"""The package's model_new.py over a library that computes with the exported model: what is bound to what."""

import ctypes
import json
import os
import sys
import tempfile
import textwrap
import unittest

import torch

from ..export import record, trace
from ..task import local_modules, structure
from ..task.task import Task, load_module

TEMPLATE = os.path.join(os.path.dirname(__file__), "..", "..", "..", "src", "program", "templates", "model_new.py")

TWO_INPUTS = """
import collections, dataclasses, typing
import torch

@dataclasses.dataclass
class Result:
    sum: torch.Tensor
    nothing: typing.Optional[torch.Tensor] = None
    parts: typing.Any = None

Pair = collections.namedtuple("Pair", "first second")

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((3,), 2.0))
        self.dropout = torch.nn.Dropout(0.5)

    def forward(self, x, y, mask=None, *, scale=1.0):
        {body}

def get_init_inputs():
    return []

def get_inputs():
    return {inputs}
"""

SUBTRACT = "return (x - y) * self.weight * scale"
STRUCTURED = "return Result(x + y, parts={'pair': Pair(x - y, [x * 2, None]), 1: (y,)})"


class FakeLibrary:
    """Computes with PyTorch what the compiled program would: flat tensors in, flat tensors out."""

    def __init__(self, module, call, dtypes):
        self.module, self.call, self.dtypes = module, call, dtypes

    def stitch_create(self, parameters, count, device, program):
        return 0

    def stitch_destroy(self, program):
        pass

    def stitch_run(self, program, inputs, input_count, outputs, output_count, stream):
        given = [self.tensor(inputs[i]) for i in range(input_count)]
        arguments, keywords = structure.arguments(self.call, given)
        results = [leaf for leaf in structure.leaves(self.module(*arguments, **keywords)) if leaf is not None]
        for i in range(output_count):
            self.tensor(outputs[i]).copy_(results[i])
        return 0

    def tensor(self, entry):
        dtype = list(self.dtypes.values())[entry.dtype]
        shape = list(entry.shape[: entry.rank])
        size = torch.Size(shape).numel() * dtype.itemsize
        raw = (ctypes.c_char * size).from_address(entry.data)
        return torch.frombuffer(raw, dtype=dtype).reshape(shape)


def make(folder, name, source, mode="eval", class_name="Model"):
    """The module of a package's model_new.py, and the task's own model."""
    path = os.path.join(folder, name + ".py")
    with open(path, "w") as file:
        file.write(textwrap.dedent(source))
    task = Task(path, class_name, mode=mode)
    model = task.construct()
    program = trace.export(model, trace.fake_inputs(task), path)
    call = json.loads(json.dumps(structure.describe(program, structure.Describer(task.module.__name__))))
    document, _ = record.record(program, path)
    package = os.path.join(folder, name + "_package")
    write_package(package, path, document, call, local_modules.files(path), class_name)
    file = load_module(os.path.join(package, "model_new.py"))
    library = FakeLibrary(program.module(), call, file._DTYPES)
    file._library, file._require_gpu, file._current_stream = lambda *_: library, lambda device: None, lambda index: None
    return file, model, task


def write_package(folder, task_file, document, call, modules, class_name):
    """As src/program/write_package.cpp does it."""
    values = document["values"]
    types = {value["name"]: value for value in values + [output for node in document["nodes"] for output in node["outputs"] if output]}

    def entry(name, role):
        return {
            "name": name,
            "role": role,
            "dtype": types[name]["dtype"],
            "shape": types[name]["shape"],
            **({"data": types[name]["data"]} if "data" in types[name] else {}),
        }

    signature = {
        "parameters": [entry(value["name"], value["role"]) for value in values if value["role"] != "input"],
        "inputs": [entry(value["name"], "input") for value in values if value["role"] == "input"],
        "outputs": [entry(output["value"], "output") for output in document["outputs"]],
    }
    for output in signature["outputs"]:
        output.pop("data", None)
    with open(TEMPLATE) as file:
        text = file.read()
    with open(task_file) as file:
        task = file.read()
    for word, value in {
        "@name@": "program",
        "@name_literal@": '"program"',
        "@libraries@": "[]",
        "@needs@": '""',
        "@model_class@": repr(class_name),
        "@signature@": repr(json.dumps(signature)),
        "@call@": repr(json.dumps(call)),
        "@modules@": repr(modules),
        "@mode@": '"eval"',
        "@task@": repr(task),
    }.items():
        text = text.replace(word, value)
    os.makedirs(folder)
    files = {"model_new.py": text, "program.cu": "", "manifest.json": '{"name": "program"}'}
    for module in modules:
        with open(os.path.join(os.path.dirname(task_file), module)) as file:
            files["modules/" + module] = file.read()
    for name, content in files.items():
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "w") as file:
            file.write(content)


class ModelNewTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def made(self, body, inputs, name="task"):
        file, model, task = make(self.folder, name, TWO_INPUTS.format(body=body, inputs=inputs))
        return file.ModelNew(), model, task

    def test_binds_by_name(self):
        new, model, _ = self.made(SUBTRACT, "[torch.rand(3), torch.rand(3)]")
        x, y = torch.rand(3), torch.rand(3)
        for result in (new(x, y), new(x, y=y), new(y=y, x=x), new(x=x, y=y, mask=None, scale=1.0)):
            self.assertTrue(torch.equal(result, model(x, y)))

    def test_a_wrong_call_is_a_type_error_that_names_the_argument(self):
        new, _, _ = self.made(SUBTRACT, "[torch.rand(3), torch.rand(3)]")
        x = torch.rand(3)
        for arguments, keywords, said in (
            ((x,), {}, "missing a required argument: 'y'"),
            ((x, x), {"bias": x}, "unexpected keyword argument 'bias'"),
            ((x, x), {"mask": x}, "'mask' was not given when this program was made"),
            ((x, x), {"scale": 2.0}, "'scale' was not given when this program was made"),
            ((x, None), {}, "'y' must be a tensor, not None"),
            ((x, x, x, x), {}, "too many positional arguments"),
        ):
            with self.subTest(said), self.assertRaisesRegex(TypeError, said):
                new(*arguments, **keywords)

    def test_constants_are_the_programs(self):
        new, model, _ = self.made(SUBTRACT, "{'y': torch.rand(3), 'scale': 3.0, 'x': torch.rand(3)}")
        x, y = torch.rand(3), torch.rand(3)
        self.assertTrue(torch.equal(new(x, y, scale=3.0), model(x, y, scale=3.0)))
        for keywords in ({}, {"scale": 2.0}):
            with self.assertRaisesRegex(TypeError, "'scale' is 3.0 in this program, not"):
                new(x, y, **keywords)

    def test_dicts_and_lists_by_their_keys(self):
        body = "return (x['left'] - x['right']) * y[0] + y[1]['deep']"
        new, model, task = self.made(body, "[{'left': torch.rand(3), 'right': torch.rand(3)}, (torch.rand(3), {'deep': torch.rand(3)})]")
        (x, y), _ = task.make_inputs(3)
        turned = {key: x[key] for key in ("right", "left")}
        self.assertTrue(torch.equal(new(turned, y=list(y)), model(x, y)))
        with self.assertRaisesRegex(TypeError, r"'x' has no entry 'right'"):
            new({"left": x["left"]}, y)
        with self.assertRaisesRegex(TypeError, r"'x' has an unexpected entry 'up'"):
            new({**x, "up": x["left"]}, y)
        with self.assertRaisesRegex(TypeError, r"'y' must be a tuple of 2"):
            new(x, y[:1])

    def test_positional_and_keyword_inputs_at_once(self):
        new, model, _ = self.made(SUBTRACT, "([torch.rand(3)], {'y': torch.rand(3)})")
        x, y = torch.rand(3), torch.rand(3)
        self.assertTrue(torch.equal(new(x, y), model(x, y)))

    def test_returns_the_models_own_structure(self):
        new, model, _ = self.made(STRUCTURED, "[torch.rand(3), torch.rand(3)]")
        x, y = torch.rand(3), torch.rand(3)
        seen, expected = new(x, y), model(x, y)
        self.assertEqual(type(seen).__name__, "Result")
        self.assertIsNone(seen.nothing)
        self.assertEqual(list(seen.parts), ["pair", 1])
        self.assertEqual(type(seen.parts["pair"]).__name__, "Pair")
        self.assertIsNone(seen.parts["pair"].second[1])
        for a, b in (
            (seen.sum, expected.sum),
            (seen.parts["pair"].first, expected.parts["pair"].first),
            (seen.parts["pair"].second[0], expected.parts["pair"].second[0]),
            (seen.parts[1][0], expected.parts[1][0]),
        ):
            self.assertTrue(torch.equal(a, b))

    def test_modules_beside_the_task_come_along(self):
        os.makedirs(os.path.join(self.folder, "own_blocks"))
        for name, text in {
            "own_blocks/__init__.py": "",
            "own_blocks/scale.py": "def twice(x):\n    return x * 2\n",
            "late_block.py": "width = 3\n",
        }.items():
            with open(os.path.join(self.folder, name), "w") as file:
                file.write(text)
        source = TWO_INPUTS.format(body="from late_block import width; return twice(x)[:width] + y", inputs="[torch.rand(3), torch.rand(3)]")
        source = source.replace("super().__init__()", "super().__init__(); import late_block")
        self.addCleanup(lambda: [sys.modules.pop(name) for name in ("late_block", "own_blocks", "own_blocks.scale")])
        file, model, _ = make(self.folder, "local", "from own_blocks.scale import twice\n" + source)
        self.assertEqual(file._MODULES, ["late_block.py", "own_blocks/__init__.py", "own_blocks/scale.py"])
        self.assertTrue(file._loaded_modules["own_blocks.scale"].__file__.startswith(os.path.join(self.folder, "local_package")))
        x, y = torch.rand(3), torch.rand(3)
        self.assertTrue(torch.equal(file.ModelNew()(x, y), model(x, y)))
        self.assertIn(self.folder + os.sep + "own_blocks", sys.modules["own_blocks.scale"].__file__)  # the task's, as it was

    def test_can_be_moved(self):
        file, *_ = make(self.folder, "task", TWO_INPUTS.format(body=SUBTRACT, inputs="[torch.rand(3), torch.rand(3)]"))
        elsewhere = os.path.join(self.folder, "elsewhere")
        os.rename(os.path.join(self.folder, "task_package"), elsewhere)
        moved = load_module(os.path.join(elsewhere, "model_new.py"))
        self.assertEqual(moved._program_folder(), elsewhere)
        with open(os.path.join(elsewhere, "model_new.py")) as text:
            self.assertNotIn(self.folder, text.read())
        with self.assertRaisesRegex(RuntimeError, "set STITCHCUDA_PROGRAM to their folder"):
            file._program_folder()

    def test_says_that_its_mode_is_fixed(self):
        new, *_ = self.made(SUBTRACT, "[torch.rand(3), torch.rand(3)]")
        new.eval()
        with self.assertWarnsRegex(UserWarning, "made of the model in eval mode"):
            new.train()

    def test_kernelbenchs_form(self):
        """Constructor arguments, load_state_dict and positional tensors."""
        source = TWO_INPUTS.format(body=SUBTRACT, inputs="[torch.rand(3), torch.rand(3)]")
        source = source.replace("def __init__(self)", "def __init__(self, width)").replace("(3,), 2.0", "(width,), 2.0")
        file, model, _ = make(self.folder, "task", source.replace("return []", "return [3]"))
        new = file.ModelNew(*[3])
        self.assertEqual(list(new.state_dict()), list(model.state_dict()))
        new.load_state_dict(model.state_dict())
        x, y = torch.rand(3), torch.rand(3)
        self.assertTrue(torch.equal(new(*[x, y]), model(x, y)))

    def test_masks_in_floating_point(self):
        """KernelBench's evaluator turns every input into FP32."""
        source = TWO_INPUTS.format(body="return self.weight * x * y", inputs="[torch.rand(3), torch.rand(3) > 0.5]")
        file, model, _ = make(self.folder, "task", source)
        new, x, mask = file.ModelNew(), torch.rand(3), torch.tensor([True, False, True])
        self.assertTrue(torch.equal(new(x, mask.float()), model(x, mask)))
        with self.assertRaisesRegex(RuntimeError, "'y' is a mask, and holds other numbers than 0 and 1"):
            new(x, torch.tensor([0.0, 0.5, 1.0]))
        with self.assertRaisesRegex(RuntimeError, "'y' must be bool"):
            new(x, torch.ones(4))


BERT = """
import torch
from transformers import BertConfig, BertModel

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = BertModel(BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
                                         vocab_size=100, max_position_embeddings=32))

    def forward(self, input_ids, attention_mask=None, token_type_ids=None):
        return self.bert(input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)

def get_init_inputs():
    return []

def get_inputs():
    mask = torch.ones(2, 8, dtype=torch.int64)
    mask[1, 5:] = 0
    return {"attention_mask": mask, "input_ids": torch.randint(0, 100, (2, 8))}
"""


class TransformersTest(unittest.TestCase):
    setUp = ModelNewTest.setUp

    def test_bert_by_keywords(self):
        try:
            import transformers  # noqa: F401
        except ImportError:
            self.skipTest("transformers is not installed")
        file, model, task = make(self.folder, "bert", BERT)
        new = file.ModelNew()
        _, inputs = task.make_inputs(5)
        with torch.no_grad():
            expected = model(**inputs)
        for seen in (
            new(**inputs),
            new(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]),
            new(inputs["input_ids"], inputs["attention_mask"]),
        ):
            self.assertIs(type(seen), type(expected))
            self.assertTrue(torch.allclose(seen.last_hidden_state, expected.last_hidden_state, atol=1e-5))
            self.assertTrue(torch.allclose(seen["pooler_output"], expected["pooler_output"], atol=1e-5))
        with self.assertRaisesRegex(TypeError, "'token_type_ids' was not given when this program was made"):
            new(**inputs, token_type_ids=inputs["input_ids"])
