"""optimize's choices and refusals, its cache, and torch.compile's backend, over programs that compute with PyTorch."""

import os
import subprocess
import sys
import unittest
import unittest.mock
import warnings

import torch
from torch import nn

import stitchcuda

from . import check, exporting, live_task, module_test, tool


class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.drop = nn.BatchNorm1d(4), nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.norm(x))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 3)

    def forward(self, x):
        return self.lstm(x)


class Broken(nn.Module):
    """graph break in the middle"""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        x = self.first(x).relu()
        torch._dynamo.graph_break()
        return self.second(x)


class OptimizeTest(module_test.Case):
    def test_choices_are_checked(self):
        model, x = module_test.Scale(), torch.rand(3, 4)
        for options in ({"numerics": "exact"}, {"other_shapes": "guess"}, {"no_gpu": "cry"}, {"device": "tpu"}):
            with self.assertRaisesRegex(ValueError, next(iter(options))):
                stitchcuda.optimize(model, (x,), progress=False, **options)
        for arguments, said in (
            ((model, 3), "args must be a tuple"),
            ((lambda x: x, (x,)), "takes a torch.nn.Module"),
            ((model, (x, x, x, x)), "Scale.forward: too many positional arguments"),
            ((model, ()), "missing a required argument"),
        ):
            with self.assertRaisesRegex(TypeError, said):
                stitchcuda.optimize(*arguments, progress=False)

    def test_a_tensor_or_a_dict_will_do(self):
        x = torch.rand(3, 4)
        for args in (x, [x], {"x": x}):
            fast, model = self.made(args=args)
            self.same(fast(x), model(x))

    def test_found_again_by_its_graph(self):
        x = torch.rand(3, 4)
        self.made()
        fast, model = self.made()  # other weights, the same graph
        self.assertEqual(self.fake.made, 1)
        self.same(fast(x), model(x))
        self.made(budget=1000)
        self.assertEqual(self.fake.made, 2)
        self.made(numerics="strict")
        self.made(args=(torch.rand(2, 4),))
        self.assertEqual(self.fake.made, 4)

    def test_found_again_without_an_export(self):
        x, model = torch.rand(3, 4), module_test.Scale()
        made, _ = self.made(model)
        with torch.no_grad():
            model.weight.mul_(2)
        with unittest.mock.patch.object(exporting, "export", side_effect=AssertionError):
            fast, _ = self.made(model)
        self.same(fast(x), model(x))
        self.assertEqual(fast.folder.path, made.folder.path)
        # What is there under the same fingerprint, and is another program, gives way to an export.
        place = os.path.join(tool.programs(), "known")
        self.made(model, args=(torch.rand(2, 4),))
        first, second = (os.path.join(place, name, "known.json") for name in sorted(os.listdir(place)))
        os.rename(first, first + ".draft"), os.rename(second, first), os.rename(first + ".draft", second)
        fast, _ = self.made(model)
        self.same(fast(x), model(x))
        self.assertEqual(fast.folder.path, made.folder.path)

    def test_drafts_of_dead_processes_are_removed(self):
        self.made()
        dead, alive = os.path.join(tool.programs(), "abc.1"), os.path.join(tool.programs(), "def.2")
        for folder in (dead, alive):
            os.makedirs(folder)
            with open(os.path.join(folder, "lock"), "w"):
                pass
        os.utime(os.path.join(dead, "lock"), (1, 1))
        self.made(args=(torch.rand(7, 4),))
        self.assertFalse(os.path.exists(dead))
        self.assertTrue(os.path.exists(alive))

    def test_training_mode_is_loud(self):
        model, x = Dropping(), torch.rand(3, 4)
        with self.assertWarnsRegex(UserWarning, "in training mode: 1 dropout is random, 1 batch norm uses the batch's statistics"):
            exported = exporting.export(model, (x,), {})
            stitchcuda.optimize.__globals__["warn_of_mode"](exported)
        self.assertTrue(exported.draws)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fast, _ = self.made(model.eval(), (x,))
        with self.assertWarnsRegex(UserWarning, "made of the model in eval mode"):
            fast.train()
        self.assertFalse(fast.training)

    def test_without_a_gpu(self):
        model, x = module_test.Scale(), torch.rand(3, 4)
        with self.assertWarnsRegex(UserWarning, "there is no GPU"):
            fast, _ = self.made(model, (x,), no_gpu="pytorch")
        self.same(fast(x), model(x))
        self.assertIsNone(fast.verdict)
        for options, fix in (({"no_gpu": "error"}, "no_gpu='emulate'"), ({"device": "cuda"}, "leave device='cuda' out")):
            with self.assertRaisesRegex(stitchcuda.StitchError, f"(?s)there is no GPU on this machine.*{fix}"):
                self.made(model, (x,), **options)

    def test_a_wrong_program_is_found(self):
        model, x = module_test.Scale(), torch.rand(3, 4)
        fast, _ = self.made(model, (x,))
        with self.assertRaisesRegex(stitchcuda.StitchError, r"away from the model's"):
            check.check(lambda x: fast(x) * 1.1, model, (x,), {}, "default")
        self.assertLess(check.check(fast, model, (x,), {}, "default"), 1e-6)

    def test_a_counter_that_is_no_buffer_is_refused(self):
        class Counting(nn.Module):
            def __init__(self):
                super().__init__()
                self.count = 1

            def forward(self, x):
                self.count += 1
                return x * 2

        model = Counting()
        with self.assertRaisesRegex(stitchcuda.StitchError, "(?s)forward changes 'count' in every call.*register_buffer"):
            self.made(model, (torch.rand(3),))
        self.assertEqual(model.count, 1)

    def test_what_cannot_be_a_graph(self):
        class Choosing(nn.Module):
            def forward(self, x):
                return x + 1 if x.sum() > 0 else x

        with self.assertRaisesRegex(stitchcuda.StitchError, "(?s)depend on the values of a tensor.*torch.where"):
            self.made(Choosing())

    def test_a_call_that_does_not_fit(self):
        with self.assertRaisesRegex(stitchcuda.StitchError, "(?s)forward fails with these inputs.*shapes and dtypes of args and kwargs"):
            self.made(nn.Sequential(module_test.Tied()), (torch.rand(3, 5),))
        code = "import stitchcuda, torch; stitchcuda.optimize(torch.nn.Linear(4, 4), (torch.rand(3, 5),), progress=False)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=os.path.dirname(tool.PACKAGE))
        self.assertNotRegex(done.stderr, r"(?m)^E\d", "PyTorch's log of what went wrong inside")
        with self.assertRaisesRegex(stitchcuda.StitchError, "class Flatten has no forward"):
            self.made(type("Flatten", (nn.Module,), {})(), (torch.rand(3),))

    def test_a_model_on_two_devices(self):
        model = module_test.Scale()
        model.shift = model.shift.to("meta")
        with self.assertRaisesRegex(stitchcuda.StitchError, "on several devices: .*shift on meta"):
            self.made(model)


class LiveTaskTest(unittest.TestCase):
    """What the other processes get: the model itself, or its exported program."""

    def read_back(self, model, *args, **kwargs):
        import tempfile

        from stitchcuda_torch.task.task import Task

        with tempfile.TemporaryDirectory() as folder:
            exported = exporting.export(model, args, kwargs)
            task = Task(live_task.write(exported, model, args, kwargs, folder))
            made, files = task.construct(), os.listdir(folder)
            arguments, keywords = task.make_inputs(7)
            out = os.path.join(folder, "out")
            os.makedirs(out)
            task.module.exported(out)
            self.assertEqual(sorted(os.listdir(out)), ["aten.json", "weights.safetensors"])
            return made, arguments, keywords, files

    def test_a_model_that_can_be_pickled(self):
        model = module_test.Scale().eval()
        made, arguments, keywords, files = self.read_back(model, torch.rand(3, 4), scale=3.0)
        self.assertIn("model.pickle", files)
        self.assertIs(type(made), module_test.Scale)
        self.assertEqual(keywords, {"scale": 3.0})
        self.assertTrue(torch.allclose(made(*arguments, **keywords), model(*arguments, **keywords)))

    def test_a_class_that_only_this_process_knows(self):
        class Local(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Recurrent()

            def forward(self, x, *, scale=1.0):
                y, (h, c) = self.inner(x["x"])
                return {"y": y * scale, "h": [h, None]}

        model = Local().eval()
        made, arguments, keywords, files = self.read_back(model, {"x": torch.rand(5, 2, 4)}, scale=2.0)
        if "model.pt2" in files:
            expected = model({"x": arguments[0]}, scale=2.0)
            for seen, wanted in zip(made(*arguments, **keywords), (expected["y"], expected["h"][0])):
                self.assertTrue(torch.allclose(seen, wanted, atol=1e-6))

    def test_inputs_of_the_same_kind(self):
        from stitchcuda_torch.export.live import draw_like

        torch.manual_seed(0)
        choice, offsets, mask = torch.randint(0, 9, (64,)), torch.arange(10), torch.tensor([[0.0, -float("inf")], [0.0, 0.0]])
        self.assertEqual(sorted(draw_like(choice).tolist()), sorted(choice.tolist()))
        self.assertTrue(torch.equal(draw_like(offsets), offsets) and torch.equal(draw_like(mask), mask))
        drawn, example = draw_like(torch.rand(1000)), torch.rand(1000)
        self.assertTrue(0 <= drawn.min() and drawn.max() <= 1 and not torch.equal(drawn, example))


class CompileTest(module_test.Case):
    def setUp(self):
        super().setUp()
        torch._dynamo.reset()
        from .compile import backend

        self.backend = lambda graph, inputs: backend(graph, inputs, options={"progress": False})

    def test_graph_breaks_and_several_shapes(self):
        model = Broken().eval()
        compiled = torch.compile(model, backend=self.backend)
        with torch.inference_mode():
            for rows in (3, 3, 5, 7, 5):
                x = torch.rand(rows, 4)
                self.same(compiled(x), model(x))
        self.assertGreaterEqual(self.fake.made, 4)
        made, packed = self.fake.made, self.fake.packed
        with torch.no_grad():
            model.first.weight.mul_(2)
        with torch.inference_mode():
            self.same(compiled(x), model(x))
        self.assertEqual(self.fake.made, made)
        self.assertEqual(self.fake.packed, packed + 1)

    def test_gradients_stay_pytorchs(self):
        model = Broken()
        compiled = torch.compile(model, backend=self.backend)
        with self.assertWarnsRegex(UserWarning, "gradients may be wanted"):
            compiled(torch.rand(3, 4)).sum().backward()
        self.assertIsNotNone(model.first.weight.grad)
        self.assertEqual(self.fake.made, 0)

    def test_options_are_checked(self):
        from .compile import backend

        with self.assertRaisesRegex(stitchcuda.StitchError, "(?s)no option 'bugdet'.*did you mean 'budget'"):
            backend(None, [], options={"bugdet": 60})
        with self.assertRaisesRegex(ValueError, "numerics must be one of"):
            backend(None, [], options={"numerics": "exact"})

    def test_it_is_registered(self):
        from importlib.metadata import entry_points

        found = [entry.value for entry in entry_points(group="torch_dynamo_backends") if entry.name == "stitchcuda"]
        if not found:
            self.skipTest("stitchcuda is not installed, only on the path")
        self.assertEqual(found, ["stitchcuda.compile:backend"])
