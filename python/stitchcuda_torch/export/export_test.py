"""What the exporter answers, asked through the server as C++ does: good tasks, and one bad task for every error kind."""

import itertools
import json
import os
import subprocess
import sys
import tempfile
import unittest

import torch

from ..reference.server_test import PYTHON_FOLDER, Server
from . import record, trace

COMMAND = [sys.executable, "-m", "stitchcuda_torch.export"]

GOOD = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.tied = nn.Linear(4, 4)
        self.tied.weight = self.linear.weight
        self.register_buffer("seen", torch.zeros(4))
        self.state = torch.ones(4)

    def forward(self, x):
        {forward}
        return x

def get_init_inputs():
    return []

def get_inputs():
    return [torch.rand(3, 4)]
"""

# kind -> (source, expected part of the message, expected part of `where`)
BAD = {
    "syntax": ("def f(:\n  pass\n", "invalid syntax", "bad_syntax.py:1:7: def f("),
    "load": ("import torch\nx = 1 / 0\n", "ZeroDivisionError", "bad_load.py:2, in <module>: x = 1 / 0"),
    "module": ("import surely_not_installed\n", "'surely_not_installed' is not installed", "bad_module.py:1"),
    "constructor": (GOOD.format(forward="pass").replace("nn.Linear(4, 4)", "nn.Linear(4, 'wide')", 1), "TypeError", "in __init__"),
    "inputs": (GOOD.format(forward="pass").replace("torch.rand(3, 4)", "torch.rand(-1)"), "get_inputs() failed", "in get_inputs"),
    "forward": (GOOD.format(forward="x = self.linear(x.T)"), "RuntimeError", "in forward: x = self.linear(x.T)"),
    "data_dependent": (GOOD.format(forward="x = x if x.sum() > 0 else -x"), "depend on the values", "x = x if x.sum() > 0"),
    "export": (GOOD.format(forward="x = (x, {1})"), "forward returns a set, which is neither a tensor nor", ""),
    "too_large": (GOOD.format(forward="pass").replace("torch.ones(4)", "torch.ones(1 << 50)"), "needs about 4.5 PB; this machine has", "in __init__"),
    # Code that looks at values gets real tensors: each would fit alone.
    "memory": (
        GOOD.format(forward="pass").replace(
            "return [torch.rand(3, 4)]", "return [torch.rand(3, 4).tolist(), [torch.empty(1 << 28) for _ in range(400)]]"
        ),
        "out of memory",
        "bad_memory.py:22",
    ),
    "download": (
        GOOD.format(forward="pass").replace("super().__init__()", "super().__init__(); raise OSError('offline mode')"),
        "needs a download",
        "in __init__",
    ),
    "crash": ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", "SIGSEGV", ""),
}


class ServerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("stitchcuda_torch.export", "--serve")
        cls.addClassCleanup(cls.server.close)
        cls.path = cls.server.path

    def ask(self, name, source, **request):
        path = self.path(name + ".py")
        if source is not None:
            with open(path, "w") as file:
                file.write(source)
        return self.server.exchange({"task": path, "out": self.path(""), **request})

    def export(self, forward, **request):
        answer = self.ask("good", GOOD.format(forward=forward), **request)
        self.assertIn("done", answer)
        return self.document()

    def document(self):
        with open(self.path("aten.json")) as file:
            return json.load(file)

    def error(self, name, source, **request):
        answer = self.ask(name, source, **request)
        self.assertIn("error", answer)
        return answer["error"]

    def test_kinds(self):
        for kind, (source, message, where) in BAD.items():
            with self.subTest(kind):
                error = self.error("bad_" + kind, source)
                self.assertEqual(error["kind"], kind, error)
                self.assertIn(message, error["message"])
                self.assertIn(where, error["where"])

    def test_file_missing_and_class(self):
        self.assertEqual(self.error("nothing_here", None)["kind"], "file")
        error = self.error("net", GOOD.format(forward="pass").replace("class Model", "class Net"))
        self.assertEqual(error["kind"], "missing")
        self.assertIn("--class Net", error["fix"])
        self.assertIn("get_inputs()", error["fix"])
        error = self.error("good", GOOD.format(forward="pass"), **{"class": "Nett"})
        self.assertEqual((error["kind"], error["fix"]), ("class", "choose one of: Model"))

    def test_a_task_cannot_hang_on_stdin_nor_leave_silently(self):
        self.assertIn("EOFError", self.error("asks", "input()\n")["message"])
        self.assertIn("SystemExit", self.error("leaves", "import sys\nsys.exit(0)\n")["message"])
        self.assertEqual(self.error("vanishes", "import os\nos._exit(0)\n")["kind"], "crash")

    def test_bad_request(self):
        self.assertEqual(self.error("good", GOOD.format(forward="pass"), colour="red")["kind"], "request")

    def test_disk(self):
        self.assertEqual(self.error("good", GOOD.format(forward="pass"), out="/nowhere/at/all")["kind"], "disk")

    def test_checks_of_inputs_are_left_out(self):
        document = self.export("torch._check_tensor_all(x < 9, lambda: 'too large'); torch._check(x[x > 9].numel() == 0); x = x + 1")
        operators = [node["op"] for node in document["nodes"] if "assert" not in node["op"]]
        self.assertEqual(operators, ["aten.add.Tensor"])

    def test_a_library_that_reads_values_is_named(self):
        with open(self.path("layers.py"), "w") as file:
            file.write(
                "def choose(x):\n    return x if x.sum() > 0 else -x\n\n\nimport torch\nclass Scale(torch.nn.Module):\n"
                "    def forward(self, x):\n        return x * x.sum().item()\n\nscale = Scale()\n"
            )
        for function, line in (
            ("choose", "layers.py:2, in choose: return x if x.sum() > 0"),
            ("scale", "layers.py:8, in forward: return x * x.sum()"),
        ):
            error = self.error("calls_" + function, "import layers\n" + GOOD.format(forward=f"x = layers.{function}(x)"))
            self.assertEqual(error["kind"], "data_dependent", error)
            self.assertIn(f"inside {line}", error["message"])
            self.assertIn(f"layers.{function}(x)", error["where"])

    def test_values_and_arguments(self):
        document = self.export("x = self.tied(self.linear(x)).T.contiguous()", seed=7)
        values = {value["name"]: value for value in document["values"]}
        self.assertEqual((document["mode"], document["class"], document["seed"]), ("train", "Model", 7))
        self.assertEqual(values["tied.weight"]["data"], values["linear.weight"]["data"])
        self.assertEqual(values["x"], {"name": "x", "role": "input", "index": 0, "dtype": "f32", "shape": [3, 4], "stride": [4, 1]})
        first, *_, last = document["nodes"]
        self.assertEqual((first["op"], first["module"]), ("aten.linear.default", "linear"))
        self.assertTrue(first["where"].startswith("good.py:"), first["where"])
        self.assertIn("in forward: x = self.tied(self.linear(x))", first["where"])
        self.assertEqual(last["args"]["memory_format"], {"other": "torch.contiguous_format"})

    def test_sizes_by_values_say_what_to_write_instead(self):
        error = self.error("counts", GOOD.format(forward="x = torch.bincount(x.long().flatten())"))
        self.assertEqual(error["kind"], "data_dependent")
        self.assertIn("instead of bincount: torch.bincount(x.clamp(0, n - 1), minlength=n)", error["fix"])

    def test_counts_and_quantiles_are_not_looked_at(self):
        document = self.export("x = torch.bincount(x.argmax(-1), minlength=4) + x.quantile(torch.tensor([0.1, 0.2, 0.5, 0.9]), dim=0)[0]")
        self.assertEqual(
            [(node["outputs"][0]["shape"], node["args"]["minlength"]) for node in document["nodes"] if node["op"] == "aten.bincount.default"],
            [([4], 4)],
        )
        self.assertIn("in forward: x = torch.bincount", next(node["where"] for node in document["nodes"] if node["op"] == "aten.sort.default"))

    def test_masks_of_transformer_layers_are_not_looked_at(self):
        layers = "self.state = torch.ones(4); self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 1)"
        source = GOOD.format(forward="x = self.encoder(x[None], mask=nn.Transformer.generate_square_subsequent_mask(3))")
        answer = self.ask("masked", source.replace("self.state = torch.ones(4)", layers))
        self.assertNotIn("error", answer, answer)

    def test_addresses_are_those_of_fresh_tensors(self):
        # As transformers' experts do in bf16; a part of a tensor lies where it lies, and two tensors never at one place.
        chosen = "x = self.linear(x) if self.linear.weight.data_ptr() % 16 == 0 and self.linear.weight[0, 1:].data_ptr() % 16 == 4 else x"
        for forward in (chosen, "x = x if x.data_ptr() == self.state.data_ptr() else self.linear(x)"):
            self.assertIn("aten.linear.default", [node["op"] for node in self.export(forward)["nodes"]])

    def test_state_that_forward_changes(self):
        document = self.export("self.seen = self.seen + x.sum(0); self.state.mul_(2); x = x.masked_fill(x > 1, float('-inf'))")
        roles = {value["name"]: value["role"] for value in document["values"]}
        self.assertEqual((roles["seen"], roles["state"]), ("buffer", "buffer"))
        written = {node["op"]: node["args"]["self"] for node in document["nodes"] if node["op"].split(".")[1].endswith("_")}
        self.assertEqual(written, {"aten.mul_.Tensor": {"value": "state"}, "aten.copy_.default": {"value": "seen"}})
        fill = next(node for node in document["nodes"] if node["op"] == "aten.masked_fill.Scalar")
        self.assertEqual(fill["args"]["value"], {"float": "-inf"})

    def test_wrappers_are_inlined_and_getitem_resolved(self):
        document = self.export(
            "\n        ".join(
                ["with torch.enable_grad(), torch.autocast('cpu', enabled=False):", "    x = x + self.linear(x)", "x, _ = torch.max(x, 1)"]
            )
        )
        self.assertEqual([node["op"] for node in document["nodes"]], ["aten.linear.default", "aten.add.Tensor", "aten.max.dim"])
        self.assertEqual([output["dtype"] for output in document["nodes"][-1]["outputs"]], ["f32", "i64"])
        self.assertEqual(document["outputs"], [{"value": document["nodes"][-1]["outputs"][0]["name"]}])

    def test_modes(self):
        forward = "x = nn.functional.dropout(x, 0.5, self.training)"
        written_in_eval = GOOD.format(forward=forward).replace("self.state = torch.ones(4)", "self.state = torch.ones(4); self.eval()")
        for source, mode, expected in (
            (GOOD.format(forward=forward), None, "train"),
            (GOOD.format(forward=forward), "eval", "eval"),
            (written_in_eval, None, "eval"),
            (written_in_eval, "train", "train"),
        ):
            self.assertIn("done", self.ask("modes", source, mode=mode))
            document = self.document()
            self.assertEqual(document["mode"], expected)
            self.assertEqual(document["nodes"][0]["args"]["train"], expected == "train")
        self.assertEqual(self.error("modes", written_in_eval, mode="dreaming")["kind"], "request")

    def test_inputs_in_any_form(self):
        whole = GOOD.format(forward="x = x - y").replace("forward(self, x)", "forward(self, x, y)")
        x = {"input": 0}
        for inputs, call in (
            ("[torch.rand(4), torch.rand(4)]", ([x, {"input": 1}], [])),
            ("torch.rand(4), 3.5", ([x, {"constant": 3.5}], [])),
            ("{'y': torch.rand(4), 'x': torch.rand(4)}", ([], [["y", x], ["x", {"input": 1}]])),
            ("[torch.rand(4)], {'y': torch.rand(4)}", ([x], [["y", {"input": 1}]])),
        ):
            with self.subTest(inputs):
                self.assertIn("done", self.ask("inputs", whole.replace("[torch.rand(3, 4)]", inputs)))
                seen = self.document()["call"]
                self.assertEqual((seen["positional"], seen["keyword"], seen["outputs"]), (*call, {"output": 0}))

    def test_inputs_that_do_not_fit(self):
        whole = GOOD.format(forward="pass")
        for inputs, message in (
            ("(torch.rand(4) for _ in range(2))", "get_inputs() returned a generator: return a list, tuple or dict"),
            ("[torch.rand(4)] * 2", "get_inputs() does not fit forward(x): too many positional arguments"),
            ("{'z': torch.rand(4)}", "get_inputs() does not fit forward(x): missing a required argument: 'x'"),
        ):
            with self.subTest(inputs):
                error = self.error("inputs", whole.replace("[torch.rand(3, 4)]", inputs))
                self.assertEqual((error["kind"], error["message"]), ("inputs", message))
                self.assertIn("in get_inputs", error["where"])

    def test_inputs_on_a_gpu_that_is_not_there(self):
        import torch

        if torch.cuda.is_available():
            self.skipTest("this machine has a GPU")
        error = self.error("on_gpu", GOOD.format(forward="pass").replace("torch.rand(3, 4)", "torch.rand(3, 4, device='cuda')"))
        self.assertEqual(error["message"], "get_inputs() makes tensors on cuda:0, and this machine has no GPU")
        self.assertIn("in get_inputs", error["where"])
        self.assertTrue(error["fix"])


class CommandTest(unittest.TestCase):
    def test_no_torch(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "torch.py"), "w") as file:
                file.write("raise ImportError('No module named torch')\n")
            with open(os.path.join(folder, "x.py"), "w") as file:
                file.write(GOOD.format(forward="pass"))
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, PYTHON_FOLDER])}
            done = subprocess.run([*COMMAND, "x.py", "--out", folder], cwd=folder, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        error = json.loads(done.stdout.splitlines()[-1])["error"]
        self.assertEqual(error["kind"], "no_torch")
        self.assertIn("pip install torch", error["fix"])

    def test_a_syntax_error_is_found_before_pytorch_is_imported(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "bad.py")
            with open(path, "w") as file:
                file.write("def f(:\n  pass\n")
            request = json.dumps({"task": path, "out": folder}) + "\n"
            for words in ([*COMMAND, path, "--out", folder], [*COMMAND, "--serve"], [sys.executable, "-m", "stitchcuda_torch.reference"]):
                with self.subTest(words[2:]):
                    done = subprocess.run(words, cwd=PYTHON_FOLDER, input=request, capture_output=True, text=True)
                    first = json.loads(done.stdout.splitlines()[0])
                    self.assertEqual(first.get("error", {}).get("kind"), "syntax", done.stdout + done.stderr)


ARGUMENTS = ["input", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first"]


def recurrent_nodes(module, *inputs):
    program = trace.export(module, trace.as_fake((inputs, {})), __file__)
    document, _ = record.record(program, __file__)
    return [node for node in document["nodes"] if node["op"].startswith(("aten.lstm", "aten.gru", "aten.rnn"))]


class RnnTest(unittest.TestCase):
    def test_one_node_with_the_shapes_of_a_real_run(self):
        kinds = {torch.nn.LSTM: "aten.lstm.input", torch.nn.GRU: "aten.gru.input", torch.nn.RNN: "aten.rnn_tanh.input"}
        for (kind, op), batch_first, bidirectional in itertools.product(kinds.items(), (False, True), (False, True)):
            with self.subTest(op, batch_first=batch_first, bidirectional=bidirectional):
                module, x = kind(3, 5, 2, batch_first=batch_first, bidirectional=bidirectional), torch.rand(4, 6, 3)
                (node,) = recurrent_nodes(module, x)
                self.assertEqual((node["op"], list(node["args"])), (op, ARGUMENTS))
                output, state = module(x)
                real = [output, *(state if isinstance(state, tuple) else [state])]
                self.assertEqual([result["shape"] for result in node["outputs"]], [list(tensor.shape) for tensor in real])

    def test_projection_and_relu(self):
        (node,) = recurrent_nodes(torch.nn.LSTM(3, 5, proj_size=2), torch.rand(4, 6, 3))
        self.assertEqual([result["shape"] for result in node["outputs"]], [[4, 6, 2], [1, 6, 2], [1, 6, 5]])
        (node,) = recurrent_nodes(torch.nn.RNN(3, 5, nonlinearity="relu"), torch.rand(4, 6, 3))
        self.assertEqual(node["op"], "aten.rnn_relu.input")

    def test_real_calls_are_untouched_afterwards(self):
        module, x = torch.nn.LSTM(3, 5), torch.rand(4, 6, 3)
        recurrent_nodes(module, x)
        self.assertEqual(module(x)[0].shape, (4, 6, 5))
