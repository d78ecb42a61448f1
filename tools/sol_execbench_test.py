"""A problem in SOL-ExecBench's form becomes a task that runs: axes, drawn, recorded and eight-bit inputs, and what is left out by name."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch

TOOL = pathlib.Path(__file__).resolve().parent / "sol_execbench.py"
REFERENCE = """import torch


def get_inputs(axes_and_scalars, device):
    return {"index": torch.randint(0, axes_and_scalars["tokens"], (axes_and_scalars["tokens"],), device=device)}


def run(x, index, norm_weight, weight, rstd, eps):
    y = (x[index].float() * rstd * norm_weight + eps) @ weight.float().T
    return y, index
"""
DEFINITION = {
    "name": "007_a-norm.and_product",
    "axes": {
        "batch": {"type": "var"},
        "length": {"type": "var"},
        "tokens": {"type": "expr", "expression": "batch * length"},
        "width": {"type": "const", "value": 8},
    },
    "custom_inputs_entrypoint": "get_inputs",
    "inputs": {
        "x": {"shape": ["tokens", "width"], "dtype": "bfloat16"},
        "index": {"shape": ["tokens"], "dtype": "int64"},
        "norm_weight": {"shape": ["width"], "dtype": "float32"},
        "weight": {"shape": ["2 * width", "width"], "dtype": "float8_e4m3fn"},
        "rstd": {"shape": ["tokens", 1], "dtype": "float32"},
        "eps": {"shape": None, "dtype": "float32"},
    },
    "outputs": {"y": {"shape": ["tokens", "2 * width"], "dtype": "float32"}, "index_out": {"shape": ["tokens"], "dtype": "int64"}},
    "reference": REFERENCE,
}


def workload(batch, length):
    sources = {name: {"type": "random"} for name in DEFINITION["inputs"]} | {"index": {"type": "custom"}, "eps": {"type": "scalar", "value": 0.5}}
    return {"axes": {"batch": batch, "length": length}, "inputs": sources, "tolerance": {"max_atol": 0.01}}


class Problems(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)
        self.write(7, DEFINITION, [workload(2, 64), workload(1, 4), workload(4, 512)])

    def write(self, number, definition, workloads):
        place = self.folder / "problems" / str(number)
        place.mkdir(parents=True)
        (place / "definition.json").write_text(json.dumps(definition))
        (place / "workload.jsonl").write_text("".join(json.dumps(one) + "\n" for one in workloads))

    def make(self, *options):
        command = [sys.executable, TOOL, self.folder / "problems", "-o", self.folder / "out", *options]
        subprocess.run(command, check=True, capture_output=True, text=True)
        return sorted((self.folder / "out/tasks").glob("*.py"))

    def load(self, file):
        task = {"__name__": "task"}
        exec(compile(file.read_text(), file, "exec"), task)
        return task, task["Model"](*task["get_init_inputs"]()), task["get_inputs"]()

    def test_a_task_is_the_problem_at_a_workload(self):
        (file,) = self.make()
        self.assertEqual(file.name, "007_a_norm_and_product.py")
        self.assertIn('"max_atol": 0.01', file.read_text())
        task, model, inputs = self.load(file)
        self.assertEqual([tuple(each.shape) for each in inputs[:-1]], [(128, 8), (128,), (8,), (16, 8), (128, 1)])
        self.assertEqual([each.dtype for each in inputs[:-1]], [torch.bfloat16, torch.int64, torch.float32, torch.uint8, torch.float32])
        self.assertEqual(inputs[-1], 0.5)
        self.assertTrue((inputs[4] > 0).all(), "a standard deviation")
        self.assertLess(inputs[1].max(), 128)
        y, index = model(*inputs)
        weight = inputs[3].view(torch.float8_e4m3fn)
        torch.testing.assert_close(y, task["run"](*inputs[:3], weight, *inputs[4:])[0])
        self.assertTrue(torch.equal(index, inputs[1]))

    def test_other_workloads(self):
        self.assertEqual(len(self.make("--workload", "all")), 3)
        for file, tokens in zip(self.make("--workload", "all"), (128, 4, 2048)):
            self.assertEqual(self.load(file)[2][0].shape[0], tokens)
        small = next(file for file in self.make("--small") if "_w" not in file.name)
        self.assertEqual(self.load(small)[2][0].shape[0], 4)

    def test_what_is_left_out_is_named(self):
        quantised = {**DEFINITION, "inputs": {"x": {"shape": ["width"], "dtype": "float4_e2m1fn_x2"}}}
        self.write(8, quantised, [workload(1, 4)])
        recorded = workload(1, 4)
        recorded["inputs"]["index"] = {"type": "safetensors", "path": "a", "tensor_key": "b"}
        self.write(9, DEFINITION, [recorded])
        self.assertEqual(len(self.make("--only", "7-9")), 1)
        lines = [json.loads(line) for line in (self.folder / "out/left_out.jsonl").read_text().splitlines()]
        self.assertEqual([line["problem"] for line in lines], [8, 9])
        self.assertIn("NVFP4", lines[0]["reason"])
        self.assertIn("safetensors", lines[1]["reason"])


if __name__ == "__main__":
    unittest.main()
