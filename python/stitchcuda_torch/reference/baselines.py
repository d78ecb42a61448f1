"""PyTorch's own best efforts: eager, compiled, and either of them replayed as a CUDA graph.

A baseline has a model and input slots of its own; contents of other draws are copied into the slots between calls.
"""

import contextlib
import copy
import gc

import torch
from torch.utils import _pytree as pytree

from ..base.errors import TaskError, environment_error, first_line
from ..base.requests import Requests, request
from ..device import activities
from ..device.gpu_lock import HELD, GpuLock
from ..device.stopwatch import Stopwatch
from ..task import structure
from . import numerics
from .distances import relative_l2

KINDS = ("eager", "eager-graph", "compile", "compile-graph")
SETS = 3  # draws that live on the device at once


class Unavailable(Exception):
    """A baseline that PyTorch can't give for this task or machine; the message says why."""


class Baseline:
    """lock: of the GPU, held during preparation and not while anything compiles."""

    def __init__(self, loaded, kind, numerics_class, sets, stopwatch, lock=HELD):
        if kind != "eager" and loaded.device.type != "cuda":
            raise Unavailable(f"{kind} needs a GPU")
        self.numerics, self.device, self.stopwatch = numerics_class, loaded.device, stopwatch
        with lock.shared():
            self.model = copy.deepcopy(loaded.model)
            arguments, keywords = loaded.arguments(sets[0])
        self.slots = [leaf for leaf in pytree.tree_leaves((arguments, keywords)) if isinstance(leaf, torch.Tensor)]
        forward = self.model
        if kind.startswith("compile"):
            torch._dynamo.reset()
            forward = torch.compile(self.model, dynamic=False, backend=inductor_with(lock))
        self.call = lambda: forward(*arguments, **keywords)
        if kind.startswith("compile"):
            with self.ready(), without_collection():
                self.call()
        with lock.shared(), self.ready():
            self.warm_up()
            if kind.endswith("graph"):
                self.capture()
                self.warm_up()

    @contextlib.contextmanager
    def ready(self):
        with torch.no_grad(), numerics.pinned(self.numerics, self.device):
            yield

    def fill(self, tensors):
        for slot, tensor in zip(self.slots, tensors):
            slot.copy_(tensor)

    def warm_up(self, least=3, most=25, patience=10e9):
        """Until two calls in a row are within 10 % of the fastest."""
        times = []
        while len(times) < least or (max(times[-2:]) > 1.1 * min(times) and len(times) < most and sum(times) < patience):
            times.append(self.stopwatch.time(self.call)[1])

    def capture(self):
        call, side = self.call, torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                call()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                self.result = call()
        except BaseException:
            forget_capture(self.device)
            raise

        def replay():
            graph.replay()
            return self.result

        self.call = replay

    def error_against_eager(self, loaded, tensors):
        """Relative L2 distance of the results from a fresh eager model's, in the same class, from the same state."""
        with self.ready():
            arguments, keywords = loaded.arguments(tensors)
            torch.manual_seed(0)
            expected = tensors_of(copy.deepcopy(loaded.model)(*arguments, **keywords))
            del arguments, keywords
            self.restore(loaded)
            self.fill(tensors)
            torch.manual_seed(0)
            return relative_l2(tensors_of(self.call()), expected)

    def restore(self, loaded):
        own = {**dict(self.model.named_parameters()), **dict(self.model.named_buffers())}
        for name, tensor in loaded.state().items():
            if name in own and own[name].shape == tensor.shape:
                own[name].copy_(tensor)

    def time(self, count, sets, flush):
        """(wall times, times between events), in nanoseconds, each call on contents that the last one didn't have; the first isn't counted."""
        walls, events = [], []
        with self.ready():
            for i in range(1 + count):
                self.fill(sets[i % len(sets)])
                result, wall, event = self.stopwatch.time(self.call, flush)
                del result
                walls.append(wall)
                events.append(event)
        return walls[1:], events[1:]


def forget_capture(device):
    """A capture that failed leaves the generator waiting for its end: every later draw of this process would fail."""
    generator = torch.cuda.default_generators[device.index or 0]
    generator.graphsafe_set_state(generator.clone_state())


@contextlib.contextmanager
def without_collection():
    """Without garbage collection: a compiler makes millions of objects that stay."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def inductor_with(lock):
    """torch.compile's own backend, whose kernels run under the GPU's lock: the first call compiles for many seconds without it."""

    def inductor(graph, inputs):
        from torch._inductor.compile_fx import compile_fx

        compiled = compile_fx(graph, inputs)
        if lock.folder is None:
            return compiled

        def run(*arguments):
            if lock.folder is None:  # it is ready: the caller that times it holds the GPU
                return compiled(*arguments)
            with lock.shared():
                return compiled(*arguments)

        return run

    return inductor


def prepare(loaded, kind, numerics_class, sets, stopwatch, lock=HELD):
    """(Baseline, relative L2 error against eager)."""
    try:
        baseline = Baseline(loaded, kind, numerics_class, sets, stopwatch, lock)
        with lock.shared():
            return baseline, baseline.error_against_eager(loaded, sets[-1])
    except (KeyboardInterrupt, TaskError, Unavailable):
        raise
    except BaseException as error:
        known = environment_error(error, "")
        text = known.message if known else f"{type(error).__name__}: {first_line(error)}"
        raise Unavailable(f"{kind} failed: {text}") from error
    finally:
        lock.folder = None


def tensors_of(result):
    return [leaf.detach() for leaf in structure.leaves(result) if isinstance(leaf, torch.Tensor)]


def draw_sets(loaded, seed):
    return [[tensor.to(loaded.device) for tensor in loaded.draw((seed + i) % 2**63)] for i in range(SETS)]


def peak_memory(loaded, tensors):
    """Bytes of GPU memory that one eager forward pass takes, by what takes it."""
    arguments, keywords = loaded.arguments(tensors)
    model = copy.deepcopy(loaded.model)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    # A stream of its own, because cuBLAS keeps a workspace for each: a program's is counted, so is PyTorch's.
    with torch.no_grad(), numerics.pinned("default", loaded.device), torch.cuda.stream(torch.cuda.Stream()):
        model(*arguments, **keywords)
        torch.cuda.synchronize()
    forward = torch.cuda.max_memory_allocated() - before
    weights = sum(size_of(tensor) for tensor in [*model.parameters(), *model.buffers()])
    inputs = sum(size_of(tensor) for tensor in tensors)
    return {"peak_bytes": forward + weights + inputs, "forward_bytes": forward, "weights_bytes": weights, "inputs_bytes": inputs}


def size_of(tensor):
    return tensor.numel() * tensor.element_size()


class BaselineRequests(Requests):
    def __init__(self, model):
        self.model = model
        self.forget()

    def forget(self):
        self.baselines, self.sets, self.sets_seed, self.stopwatch = {}, [], None, None

    @request
    def baseline(self, kind: KINDS, numerics: numerics.CLASSES = "default", seed: int = 42, turns: str = None):
        lock, loaded = GpuLock(turns), self.model.need()
        self.stopwatch = self.stopwatch or Stopwatch(loaded.device)
        self.baselines.pop(kind, None)
        self.model.progress(f"preparing {kind}")
        try:
            with lock.shared():
                sets = self.sets_of(seed)
            self.baselines[kind], error = prepare(loaded, kind, numerics, sets, self.stopwatch, lock)
        except Unavailable as reason:
            self.model.collect()
            if self.model.lost_device():
                raise self.model.lost_device() from reason
            return {"unavailable": str(reason), "waited": lock.waited}
        return {"relative_l2": error, "waited": lock.waited}

    @request
    def time(self, kind: KINDS, count: int, flush: int = 0, seed: int = None):
        baseline = self.prepared(kind)
        wall, event = baseline.time(count, self.sets_of(self.sets_seed if seed is None else seed), flush)
        return {"wall_ns": wall, "event_ns": event}

    @request
    def profile(self, kind: KINDS, host_calls: bool = False):
        baseline = self.prepared(kind)
        if self.model.loaded.device.type != "cuda":
            return {"unavailable": "there is no profiler for the CPU"}
        with baseline.ready():
            return {"activities": activities.record(baseline.call, host_calls)}

    @request
    def warm_profiler(self):
        if self.model.need().device.type == "cuda":
            activities.warm_up()
        return {}

    @request
    def memory(self, seed: int = 42):
        loaded = self.model.need()
        if loaded.device.type != "cuda":
            return {"unavailable": "memory is only measured on a GPU"}
        with loaded.task.stage("forward", "forward failed"):
            peak = peak_memory(loaded, loaded.draw(seed))
        self.model.collect()
        return peak

    def sets_of(self, seed):
        if self.sets_seed != seed:
            self.sets, self.sets_seed = [], None
            self.sets, self.sets_seed = draw_sets(self.model.loaded, seed), seed
        return self.sets

    def prepared(self, kind):
        self.model.need()
        if kind not in self.baselines:
            raise TaskError("request", f"{kind} isn't prepared", "", f'Ask for {{"do": "baseline", "kind": "{kind}"}} first.')
        return self.baselines[kind]
