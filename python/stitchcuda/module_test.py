"""The module that optimize returns, over a program that computes with PyTorch: what is bound to what, and what is refused."""

import collections
import copy
import dataclasses
import gc
import io
import json
import os
import pickle
import sys
import tempfile
import threading
import types
import typing
import unittest
import warnings

import torch
from torch import nn

import stitchcuda

from . import trees
from .testdata.fake_search import Installed


@dataclasses.dataclass
class Result:
    total: torch.Tensor
    nothing: typing.Optional[torch.Tensor] = None
    parts: typing.Any = None


Pair = collections.namedtuple("Pair", "first second")


class Scale(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))
        self.frozen = nn.Parameter(torch.rand(width), requires_grad=False)
        self.tied = self.weight
        self.register_buffer("shift", torch.rand(width))
        self.plain = torch.rand(width)

    def forward(self, x, y=None, *, scale=2.0):
        out = x * self.weight * scale + self.shift + self.frozen + self.tied + self.plain
        return out if y is None else out - y


class Constant(nn.Module):
    """No parameters: what it holds is known to the graph alone."""

    def forward(self, x):
        return x.to(torch.float64).to(torch.float32) * torch.tensor([1.0, 2.0, 3.0, 4.0])


class Structured(Scale):
    def forward(self, x, options=None):
        a, (b, c) = x["a"], x["more"]
        return Result(a + b * self.weight, parts={"pair": Pair(a - c, [b, None]), 1: (c + 1.0,)})


class Cache:
    """As transformers' are: an object that holds tensors."""

    __module__ = "transformers.cache_utils_of_a_test"

    def __init__(self, keys):
        self.layers, self.offloading, self.device = [keys, None], False, keys.device


class Caching(Scale):
    def forward(self, x):
        return {"y": x * self.weight, "cache": Cache(x + self.shift), "size": tuple(x.shape), "name": "scaled"}


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(x))


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        installed = Installed()
        self.fake = installed.__enter__()
        self.addCleanup(installed.__exit__, None, None, None)

    def made(self, model=None, args=None, kwargs=None, **options):
        model = model or Scale()
        args = (torch.rand(3, 4),) if args is None else args
        return stitchcuda.optimize(model, args, kwargs, progress=False, **options), model

    def same(self, a, b):
        self.assertTrue(torch.allclose(a, b), (a, b))


class CallTest(Case):
    def test_three_lines(self):
        fast, model = self.made()
        x = torch.rand(3, 4)
        self.same(fast(x), model(x))
        ran = self.fake.ran
        self.same(fast(x), model(x))
        self.assertEqual(self.fake.ran, ran + 1)
        self.assertIsNotNone(fast._call)

    def test_arguments_by_name_and_position(self):
        x, y = torch.rand(3, 4), torch.rand(3, 4)
        fast, model = self.made(args=(x,), kwargs={"y": y, "scale": 2.0})
        for seen in (fast(x, y), fast(x, y=y), fast(y=y, x=x), fast(x, y, scale=2.0)):
            self.same(seen, model(x, y))
        self.assertEqual(self.fake.made, 1)

    def test_structures(self):
        x = {"a": torch.rand(4), "more": [torch.rand(4), torch.rand(4)]}
        fast, model = self.made(Structured(), (x,))
        seen, expected = fast({"more": x["more"], "a": x["a"]}), model(x)
        self.assertIs(type(seen), Result)
        self.assertIsNone(seen.nothing)
        self.assertIs(type(seen.parts["pair"]), Pair)
        self.assertIsNone(seen.parts["pair"].second[1])
        self.same(seen.total, expected.total)
        self.same(seen.parts["pair"].first, expected.parts["pair"].first)
        self.same(seen.parts[1][0], expected.parts[1][0])

    def test_objects_and_numbers_in_results(self):
        x, module = torch.rand(3, 4), types.ModuleType(Cache.__module__)
        module.Cache = Cache
        sys.modules[Cache.__module__] = module
        self.addCleanup(sys.modules.pop, Cache.__module__)
        fast, model = self.made(Caching(), (x,))
        seen = fast(x)
        self.assertIs(type(seen["cache"]), Cache)
        self.same(seen["cache"].layers[0], x + model.shift)
        self.assertEqual((seen["cache"].layers[1], seen["cache"].device, seen["size"], seen["name"]), (None, x.device, (3, 4), "scaled"))
        again = trees.call_from_json(json.loads(json.dumps(trees.call_to_json(fast._tree))))["outputs"]
        self.assertEqual(dict(again["dict"])["size"], {"tuple": [{"constant": 3}, {"constant": 4}]})
        with self.assertRaisesRegex(stitchcuda.StitchError, "argument 0 is a Cache, which changes from call to call"):
            self.made(args=(Cache(x),))

    def test_what_no_program_takes_says_so(self):
        for model, args, said in (
            (nn.LazyLinear(3), (torch.rand(2, 4),), "lazy modules"),
            (Scale(), (torch.rand(3, 4).to_sparse(),), "layout sparse_coo"),
            (Scale(), (torch.rand(3, 4).numpy(),), "argument 0 is a NumPy array"),
            (Scale().to("meta"), (torch.rand(3, 4, device="meta"),), "has no weights|several devices"),
        ):
            with self.assertRaisesRegex((TypeError, stitchcuda.StitchError), said):
                self.made(model, args)

    def test_other_methods_are_the_models(self):
        fast, model = self.made()
        model.__dict__["generate"] = lambda: 3
        with self.assertWarnsRegex(UserWarning, "generate is the model's own and runs in PyTorch"):
            self.assertEqual(fast.generate(), 3)

    def test_constants_of_the_graph(self):
        fast, model = self.made(Constant())
        x = torch.rand(3, 4)
        self.same(fast(x), model(x))

    def test_inputs_in_any_order_of_memory(self):
        fast, model = self.made()
        for x in (torch.rand(4, 3).t(), torch.rand(3, 8)[:, ::2], torch.rand(1, 4).expand(3, 4), nn.Parameter(torch.rand(3, 4), False)):
            self.same(fast(x), model(x))

    def test_other_shapes_run_in_pytorch_and_say_so_once(self):
        fast, model = self.made()
        with self.assertWarnsRegex(UserWarning, r"runs in PyTorch: 'x' is float32\[5, 4\], and the program was made for float32\[3, 4\]"):
            self.assertEqual(fast(torch.rand(5, 4)).shape, (5, 4))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(fast(torch.rand(6, 4)).shape, (6, 4))
            self.assertEqual(fast(torch.rand(3, 4, dtype=torch.float64)).dtype, torch.float64)

    def test_other_shapes_are_an_error(self):
        fast, _ = self.made(other_shapes="error")
        for arguments, said in (
            ((torch.rand(5, 4),), "'x' is float32"),
            ((torch.rand(3, 4).double(),), "'x' is float64"),
            ((torch.rand(3, 4), torch.rand(3, 4)), "'y' was not given in the example|'y' is a tensor"),
        ):
            with self.assertRaisesRegex(stitchcuda.StitchError, said):
                fast(*arguments)

    def test_other_shapes_get_programs(self):
        fast, model = self.made(other_shapes="program")
        for _ in range(2):
            x = torch.rand(5, 4)
            self.same(fast(x), model(x))
        self.assertEqual(self.fake.made, 2)

    def test_wrong_calls_are_type_errors(self):
        fast, _ = self.made()
        for arguments, keywords in (((), {}), ((torch.rand(3, 4),), {"bias": 1}), ((1, 2, 3), {})):
            with self.assertRaises(TypeError):
                fast(*arguments, **keywords)

    def test_gradients_are_refused(self):
        fast, model = self.made()
        x = torch.rand(3, 4, requires_grad=True)
        with self.assertRaisesRegex(stitchcuda.StitchError, "'x' requires a gradient"):
            fast(x)
        for mode in (torch.no_grad, torch.inference_mode):
            with mode():
                self.same(fast(x), model(x))

    def test_two_threads(self):
        fast, model = self.made()
        failed = []

        def work():
            for _ in range(20):
                x = torch.rand(3, 4)
                if not torch.allclose(fast(x), model(x)):
                    failed.append(x)

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])

    def test_after_a_fork(self):
        fast, _ = self.made()
        x = torch.rand(3, 4)
        child = os.fork()
        if child == 0:
            try:
                fast(x)
            except stitchcuda.StitchError as error:
                os._exit(0 if "forked" in str(error) else 2)
            os._exit(1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        fast(x)


class WeightsTest(Case):
    def test_weights_that_change(self):
        fast, model = self.made()
        x, packed = torch.rand(3, 4), self.fake.packed
        with torch.no_grad():
            model.weight.add_(1)
        self.same(fast(x), model(x))
        model.shift.data = torch.rand(4)
        self.same(fast(x), model(x))
        model.plain = torch.rand(4)
        self.assertEqual(self.fake.packed, packed + 2)
        fast.load_state_dict({name: torch.rand(4) for name in model.state_dict()})
        self.same(fast(x), model(x))
        fast(x)
        self.assertEqual(self.fake.packed, packed + 3)

    def test_weights_that_are_replaced(self):
        x, new = torch.rand(3, 4), lambda: nn.Parameter(torch.rand(4, 4))
        fast, model = self.made(Tied(), (x,))
        model.first.bias = nn.Parameter(torch.rand(4))
        self.same(fast(x), model(x))
        other = nn.Linear(4, 4)
        other.weight = model.first.weight
        model.second = other
        self.same(fast(x), model(x))
        fast.load_state_dict(
            {name: torch.rand_like(value) for name, value in model.state_dict().items() if "bias" in name}, strict=False, assign=True
        )
        self.same(fast(x), model(x))
        model.first.weight = new()
        with self.assertWarnsRegex(UserWarning, "'second.weight' and 'first.weight' were one tensor when the program was made, and are two now"):
            self.same(fast(x), model(x))
        model.second.weight = model.first.weight
        before = self.fake.ran
        self.same(fast(x), model(x))
        self.assertEqual(self.fake.ran, before + 1)

    def test_weights_that_are_parametrized(self):
        x = torch.rand(3, 4)
        fast, model = self.made(Tied(), (x,))
        nn.utils.parametrizations.weight_norm(model.second, "bias")
        with self.assertWarnsRegex(UserWarning, "runs in PyTorch: the module has no tensor 'second.bias' any more"), torch.no_grad():
            self.same(fast(x), model(x))
        nn.utils.parametrize.remove_parametrizations(model.second, "bias")
        self.same(fast(x), model(x))

    def test_autocast_says_so(self):
        x = torch.rand(3, 4)
        fast, model = self.made(Tied(), (x,))
        with self.assertWarnsRegex(UserWarning, "autocast does not change"), torch.autocast("cpu", torch.bfloat16):
            self.assertEqual(fast(x).dtype, torch.float32)

    def test_state_is_the_models(self):
        fast, model = self.made()
        self.assertEqual(list(fast.state_dict()), list(model.state_dict()))
        self.assertEqual([p.requires_grad for p in fast.parameters()], [p.requires_grad for p in model.parameters()])
        self.assertIs(fast.weight, model.weight)
        self.assertIs(fast.tied, fast.weight)
        self.assertIs(type(model.plain), torch.Tensor)
        self.assertNotIn("plain", model._buffers)

    def test_moved(self):
        fast, model = self.made()
        x = torch.rand(3, 4)
        self.same(fast.to("cpu")(x), model(x))
        with self.assertWarnsRegex(UserWarning, "is float64"):
            self.assertEqual(fast.double()(x.double()).dtype, torch.float64)
        self.same(fast.float()(x), model(x))

    def test_deepcopy_and_pickle(self):
        fast, model = self.made()
        x = torch.rand(3, 4)
        other = copy.deepcopy(fast)
        with torch.no_grad():
            other.weight.zero_()
        self.assertIs(other.weight, other.tied)
        self.same(fast(x), model(x))
        self.same(other(x), other.original(x))
        self.assertFalse(torch.allclose(fast(x), other(x)))
        self.same(pickle.loads(pickle.dumps(fast))(x), model(x))
        file = io.BytesIO()
        torch.save(fast, file)
        file.seek(0)
        self.same(torch.load(file, weights_only=False)(x), model(x))

    def test_memory_is_given_back(self):
        import ctypes

        fast, _ = self.made()
        alive = ctypes.CDLL(fast.folder.file("build", "emulated.so")).stub_alive
        self.assertEqual(alive(), 1)
        with torch.no_grad():
            fast.weight.add_(1)
        fast(torch.rand(3, 4))
        self.assertEqual(alive(), 1)
        del fast
        gc.collect()
        self.assertEqual(alive(), 0)

    def test_weights_made_in_inference_mode(self):
        with torch.inference_mode():
            model = Scale()
        with torch.inference_mode():
            fast, _ = self.made(model)
            x = torch.rand(3, 4)
            self.same(fast(x), model(x))


class SavedTest(Case):
    def test_save_and_load(self):
        x = {"a": torch.rand(4), "more": [torch.rand(4), torch.rand(4)]}
        fast, model = self.made(Structured(), (x,))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "fast")
            fast.save(path)
            with self.assertRaisesRegex(stitchcuda.StitchError, "exists already"):
                fast.save(path)
            fast.save(path, overwrite=True)
            self.fake.connect(os.path.join(path, "build", "emulated.so"), self.fake.exported)
            loaded = stitchcuda.load(path)
            self.same(loaded(x=x).total, model(x).total)
            self.assertEqual(list(loaded.state_dict()), list(model.state_dict()))
            self.assertIs(loaded.weight, loaded.tied)
            self.assertFalse(loaded.frozen.requires_grad)
            self.assertTrue(loaded.verdict)
            with self.assertRaisesRegex(stitchcuda.StitchError, "give the model to load|other_shapes"):
                loaded({"a": torch.rand(2, 4), "more": x["more"]})
            with torch.no_grad():
                loaded.weight.zero_()
            self.same(loaded(x).total, x["a"])
            again = stitchcuda.load(path, model=model)
            self.same(again(x).total, model(x).total)
            self.assertIs(again.weight, model.weight)

    def test_nothing_of_the_users_is_overwritten(self):
        fast, _ = self.made()
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "notes"), "w") as file:
                file.write("mine")
            for overwrite in (False, True):
                with self.assertRaisesRegex(stitchcuda.StitchError, "exists already"):
                    fast.save(folder, overwrite=overwrite)
            with self.assertRaisesRegex(stitchcuda.StitchError, "is no program of stitchcuda's"):
                stitchcuda.load(folder)

    def test_a_folder_that_vanishes(self):
        import shutil

        fast, model = self.made()
        x = torch.rand(3, 4)
        shutil.rmtree(fast.folder.path)
        self.same(fast(x), model(x))
        with self.assertRaisesRegex(stitchcuda.StitchError, "has no report"):
            fast.report()
        fast = copy.deepcopy(fast)
        with self.assertRaisesRegex(stitchcuda.StitchError, "is gone"):
            fast(x)
