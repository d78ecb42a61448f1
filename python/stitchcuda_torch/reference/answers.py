"""The requests of the reference server, one method each; TABLE says what each may be asked."""

import gc
import time

import torch

from ..base import dtypes, safetensors
from ..base.errors import TaskError
from ..device import activities
from ..device.arena import TYPES, DeviceArena
from ..device.stopwatch import Stopwatch
from ..device.turns import Turns
from ..task.task import write_arguments
from . import distributions, numerics
from .baselines import KINDS, Unavailable, draw_sets, peak_memory, prepare
from .evaluate import MODES, check_carried, evaluate, named
from .held import IMITATIONS, choose, hold, imitations, parse_outputs
from .loaded import Loaded
from .reparameterise import mix, point
from .requests import NEEDED
from .room import draw_held, find_room
from .rounding_shares import Exported, shares
from .series import Series, Varied, is_free, sampled, strangeness
from .shared import Fingerprints, Shared, open_arena

DRAWN = (*distributions.NAMES, "varied", *distributions.PLANTED)
HALVES = tuple(numerics.HALF)
WHERE = ("host", "device")  # the orchestrator's arena, the device arena
OTHERS = 2 << 30  # bytes of the GPU's memory that are not ours: more than contexts take

MUCH = 1 << 29  # bytes


class Answers:
    TABLE = {
        "load": {"task": (str, NEEDED), "class": (str, None), "seed": (int, 42), "device": (("cpu", "cuda"), "cpu"), "mode": (("train", "eval"), None),
                 "turns": (str, None)},
        "init_inputs": {"out": (str, NEEDED)},
        "weights": {"variant": (("task", "reparameterised", "faint", "pointed", "mixed"), "task"), "seed": (int, 0), "gain": (float, 6 ** 0.5), "out": (str, None),
                    "changes": (list, None), "mode": (numerics.CLASSES, "default"), "half": (HALVES, "fp16"), "turns": (str, None)},
        "distributions": {},
        "boundaries": {"kinds": (dict, NEEDED)},
        "draw": {"distribution": (DRAWN, "task"), "seed": (int, NEEDED), "out": (str, NEEDED)},
        "evaluate": {"inputs": (str, NEEDED), "mode": (MODES, NEEDED), "out": (str, NEEDED), "half": (HALVES, "fp16"),
                     "device": (("cpu", "cuda"), None), "seed": (int, 42), "updates": (list, None)},
        "arithmetic": {"convolutions": (list, NEEDED), "turns": (str, None)},
        "roundings": {"mode": (MODES, NEEDED), "half": (HALVES, "fp16"), "distribution": (distributions.NAMES, "task"), "seed": (int, NEEDED),
                      "floor": (float, 1e-5), "probes": (int, 2), "turns": (str, None)},
        "share": {"path": (str, NEEDED)},
        "share_device": {"bytes": (int, NEEDED), "socket": (str, NEEDED)},
        "unshare_device": {},
        "hold": {"trial": (int, NEEDED), "distribution": (DRAWN, "task"), "seed": (int, NEEDED), "mode": (MODES, NEEDED),
                 "outputs": (list, NEEDED), "updates": (list, None), "half": (HALVES, "fp16"), "patient": (bool, False),
                 "own": (bool, False)},
        "put": {"trial": (int, NEEDED), "inputs": (list, NEEDED)},
        "same_input": {"trial": (int, NEEDED), "input": (int, NEEDED), "offset": (int, NEEDED), "where": (WHERE, "host")},
        "distance": {"trial": (int, NEEDED), "output": (int, NEEDED), "dtype": (tuple(TYPES), NEEDED), "offset": (int, NEEDED),
                     "where": (WHERE, "host")},
        "outside": {"trial": (int, NEEDED), "output": (int, NEEDED), "dtype": (tuple(TYPES), NEEDED), "offset": (int, NEEDED),
                    "where": (WHERE, "host"), "tolerance": (float, NEEDED)},
        "fingerprint": {"offset": (int, NEEDED), "bytes": (int, NEEDED)},
        "fetch": {"offset": (int, NEEDED), "ranges": (list, NEEDED), "to": (int, NEEDED)},
        "open_series": {"bytes": (int, NEEDED), "socket": (str, NEEDED), "slots": (int, NEEDED), "inputs_at": (int, NEEDED),
                        "inputs_step": (int, NEEDED), "outputs_at": (int, NEEDED), "outputs_step": (int, NEEDED)},
        "stage": {"distributions": (list, NEEDED), "seeds": (list, NEEDED), "offsets": (list, NEEDED)},
        "reveal": {"count": (int, NEEDED)},
        "take": {"count": (int, NEEDED)},
        "check_series": {"count": (int, NEEDED), "keep": (list, NEEDED)},
        "kept_distance": {"number": (int, NEEDED), "trial": (int, NEEDED), "output": (int, NEEDED), "dtype": (tuple(TYPES), NEEDED),
                          "offset": (int, NEEDED)},
        "compare_series": {"count": (int, NEEDED), "mode": (MODES, NEEDED), "half": (HALVES, "fp16"), "outputs": (list, NEEDED),
                           "updates": (list, None), "seconds": (float, NEEDED), "most": (int, None), "seed": (int, NEEDED)},
        "compare_call": {"distribution": (DRAWN, "task"), "seed": (int, NEEDED), "mode": (MODES, NEEDED), "half": (HALVES, "fp16"),
                         "outputs": (list, NEEDED), "updates": (list, None), "file": (str, NEEDED)},
        "fetch_kept": {"number": (int, NEEDED), "offset": (int, NEEDED), "bytes": (int, NEEDED), "to": (int, NEEDED)},
        "imitate": {"trial": (int, NEEDED), "output": (int, NEEDED), "by": (IMITATIONS, NEEDED), "other": (int, None)},
        "let_go": {"trials": (list, NEEDED)},
        "baseline": {"kind": (KINDS, NEEDED), "numerics": (numerics.CLASSES, "default"), "half": (HALVES, "fp16"), "seed": (int, 42),
                     "turns": (str, None)},
        "time": {"kind": (KINDS, NEEDED), "count": (int, NEEDED), "flush": (int, 0), "seed": (int, None), "warm": (int, 1)},
        "profile": {"kind": (KINDS, NEEDED), "host_calls": (bool, False)},
        "warm_profiler": {},
        "memory": {"seed": (int, 42)},
        "release": {},
    }

    def __init__(self, progress):
        self.progress, self.fingerprints, self.shared = progress, Fingerprints(), {}
        self.series, self.varied = None, Varied()
        self.exported = Exported()
        self.forget()

    def forget(self):
        self.unshare_device()
        self.loaded = self.original = self.facts = self.stopwatch = self.sets_seed = None
        self.baselines, self.sets, self.trials, self.shared, self.held_back = {}, [], {}, {}, {}
        self.varied.forget()

    def load(self, task, seed, device, mode, turns, **rest):
        start = time.monotonic()
        if device == "cuda" and not torch.cuda.is_available():
            raise TaskError("device", "PyTorch sees no GPU here", "", "Use the device cpu.")
        self.forget()
        gc.collect()
        self.progress("constructing the model")
        turns = Turns(turns)
        loaded = Loaded(task, rest["class"], seed, device, mode, turns)
        numerics.set_flags("default", loaded.device)
        self.loaded = loaded
        with turns.beside_others():
            self.collect()  # it drew inputs to see where that works
        gpu = torch.cuda.get_device_name() if device == "cuda" else None
        return {"torch": torch.__version__, "gpu": gpu, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
                "class": loaded.task.model_class.__name__, "mode": "train" if loaded.model.training else "eval",
                "parameters": loaded.describe_state(), "inputs": [form.as_json() for form in loaded.forms],
                "seconds": seconds_since(start), "waited": turns.waited}

    def init_inputs(self, out):
        return write_arguments(self.need().task, out)

    def weights(self, variant, seed, gain, out, changes, mode, half, turns):
        start, turns, room = time.monotonic(), Turns(turns), True
        loaded = self.need()
        if self.original is None:
            self.original = {name: tensor.detach().to("cpu", copy=True) for name, tensor, _ in loaded.state()}
        else:
            with torch.no_grad():
                for name, tensor, _ in loaded.state():
                    tensor.copy_(self.original[name])
        if variant == "mixed":
            mix({name: tensor for name, tensor, _ in loaded.state()}, seed)
        elif variant != "task":
            with turns.beside_others():
                key = (variant == "faint", seed, gain, mode, half)  # once: on a GPU, another pass may round otherwise
                if key not in self.held_back:
                    self.held_back[key] = find_room(loaded, self.original, self.drawn("task", seed)[0], mode, half, seed, gain, variant == "faint")
                draw_held(loaded, self.original, self.held_back[key], seed, gain, variant == "faint")
                room = self.held_back[key].room
                point({name: tensor for name, tensor, _ in loaded.state()}, changes or [])
                self.give_back()
        size = safetensors.write_mapped(out, {name: tensor for name, tensor, _ in loaded.state()}) if out else 0
        return {"bytes": size, "room": room, "seconds": seconds_since(start), "waited": turns.waited}

    def distributions(self):
        return {"distributions": list(distributions.NAMES)}

    def boundaries(self, kinds):
        """What each input gets in draws of these kinds: src/reference/inputs/boundaries.h."""
        self.planted = kinds
        return {}

    def draw(self, distribution, seed, out):
        start = time.monotonic()
        self.need()
        tensors, domain_kept = self.drawn(distribution, seed)
        size = safetensors.write_mapped(out, {f"input_{i}": tensor for i, tensor in enumerate(tensors)})
        return {"domain_kept": domain_kept, "inputs": [fact.as_json() for fact in self.facts], "bytes": size,
                "seconds": seconds_since(start)}

    def evaluate(self, inputs, mode, out, half, device, seed, updates):
        start = time.monotonic()
        loaded = self.need()
        device = torch.device(device) if device else loaded.device
        if device != loaded.device and (mode != "float64" or device.type != "cpu"):
            raise TaskError("request", f"{mode} runs on {loaded.device.type}, where the task was loaded")
        tensors = loaded.check(self.read_inputs(inputs), "the inputs have other shapes or dtypes than the task's")
        seen, facts = evaluate(loaded, tensors, mode, half, device, seed)
        state = {name: tensor for name, tensor, _ in loaded.state()}
        for name in updates or []:
            if name not in state:
                raise TaskError("request", f"the model has no state named {name!r}")
        if updates is not None:
            check_carried(seen, updates, loaded)
        tensors = named(seen, updates, state)
        safetensors.write_mapped(out, tensors)
        described = [{"name": name, "dtype": dtypes.name(tensor.dtype), "shape": list(tensor.shape)}
                     for name, tensor in tensors.items()]
        del seen, tensors
        self.give_back()
        return {**facts, "tensors": described, "seconds": seconds_since(start)}

    def arithmetic(self, convolutions, turns=None):
        start, turns = time.monotonic(), Turns(turns)
        with turns.beside_others():
            found = numerics.are_tf32(convolutions, self.need().device, turns=turns)
            self.give_back()
        return {"tf32": found, "seconds": seconds_since(start), "waited": turns.waited}

    def roundings(self, mode, half, distribution, seed, floor, probes, turns=None):
        """What the rounding of each value and operand does to the outputs; or `unavailable`: why that isn't known."""
        start, turns = time.monotonic(), Turns(turns)
        loaded = self.need()
        with turns.beside_others():
            answer = shares(loaded, self.exported, self.drawn(distribution, seed)[0], mode, half, floor, probes, seed, turns)
            self.collect()
        return {**answer, "seconds": round(seconds_since(start) - turns.waited, 4), "waited": turns.waited}

    # Trials that stay here.

    def share(self, path):
        self.need()
        self.shared["host"] = Shared(open_arena(path))
        return {}

    def share_device(self, bytes, socket):
        arena = self.arena_at(bytes, socket)
        self.shared["device"] = Shared(arena)
        return {"bytes": arena.size}

    def arena_at(self, bytes, socket):
        loaded = self.need()
        self.unshare_device()
        self.collect()
        arena = DeviceArena(bytes, loaded.device)
        try:
            arena.leave_at(socket)
        except OSError as error:
            arena.close()
            raise TaskError("request", f"nobody takes the device arena at {socket}: {error.strerror}") from error
        return arena

    def unshare_device(self):
        if self.series is not None:
            self.series.close()
            self.series = None
            self.varied.forget()
        if "device" in self.shared:
            self.shared.pop("device").arena.close()
        return {}

    # Series of calls.

    def open_series(self, bytes, socket, slots, **layout):
        arena = self.arena_at(bytes, socket)
        try:
            self.series = Series(arena, self.loaded.device, slots, **layout)
        except BaseException:
            arena.close()
            raise
        return {"bytes": arena.size}

    def stage(self, distributions, seeds, offsets):
        """A kind and a seed for each call."""
        start = time.monotonic()
        if len(distributions) != len(seeds) or any(kind not in DRAWN for kind in distributions):
            raise TaskError("request", f"stage wants a kind of inputs for each seed, of {', '.join(DRAWN)}")
        for slot, (distribution, seed) in enumerate(zip(distributions, seeds)):
            self.opened_series().stage(slot, self.drawn(distribution, seed)[0], offsets)
        self.series.wait()
        return {"seconds": time.monotonic() - start, "free": any(is_free(fact) for fact in self.facts or [])}

    def reveal(self, count):
        self.opened_series().reveal(count)
        return {}

    def take(self, count):
        self.opened_series().take(count)
        return {}

    def check_series(self, count, keep):
        """keep: [[slot, number], …]"""
        series = self.opened_series()
        for slot, number in keep:
            series.keep(slot, number)
        return {"intact": series.intact(count) if count else True}

    def compare_series(self, count, mode, half, outputs, updates, seconds, most, seed):
        """How far from what PyTorch itself gives the calls are that were read last, [[call, relative distance], …], the farthest first; as
        many as there is time for, and at most so many.

        outputs: [[name, dtype, offset], …]"""
        start, series = time.monotonic(), self.opened_series()
        wanted, strange, looked_at = parse_outputs([entry[:2] for entry in outputs]), [], 0
        try:
            for slot in torch.randperm(count, generator=torch.Generator().manual_seed(seed)).tolist()[:most]:
                if time.monotonic() - start > seconds:
                    break
                expected = self.own_answer(series.inputs(slot), mode, half, updates, wanted)
                looked_at += 1
                strange.append([slot, max(strangeness(sampled(series.output(slot, dtype, value.shape, entry[2]), seed), sampled(value, seed))
                                          for (_, dtype), value, entry in zip(wanted, expected, outputs))])
                del expected
        finally:
            self.give_back()
        strange.sort(key=lambda entry: -entry[1])
        return {"strange": strange, "looked_at": looked_at, "seconds": seconds_since(start)}

    def compare_call(self, distribution, seed, mode, half, outputs, updates, file):
        """The same of one call, whose outputs are in a file: of each every step-th element, one output after the other.

        outputs: [[name, dtype, start, step], …]"""
        wanted, at, far = parse_outputs([entry[:2] for entry in outputs]), 0, 0.0
        with open(file, "rb") as stream:
            data = bytearray(stream.read())
        try:
            for (_, dtype), value, (_, _, start, step) in zip(wanted, self.own_answer(self.drawn(distribution, seed)[0], mode, half, updates, wanted), outputs):
                value = value.reshape(-1)[start::step]
                size = value.numel() * dtype.itemsize
                if at + size > len(data):
                    raise TaskError("request", f"{file} has {len(data)} bytes, and more are needed")
                if size:
                    far = max(far, strangeness(torch.frombuffer(data, dtype=dtype, count=value.numel(), offset=at).to(value.device), value))
                at += size
        finally:
            self.give_back()
        return {"distance": far}

    def own_answer(self, inputs, mode, half, updates, wanted):
        loaded = self.need()
        seen, _ = evaluate(loaded, inputs, mode, half, loaded.device, 42)
        state = {name: tensor for name, tensor, _ in loaded.state()}
        return [choose(seen, updates, state, name) for name, _ in wanted]

    def kept_distance(self, number, trial, output, dtype, offset):
        held = self.held(trial)
        truth, _ = held.output(output)
        kind = torch.uint8 if dtype == "bool" else TYPES[dtype]
        return {"distance": held.measure(self.kept(number).reader(kind, offset, truth.shape, truth.device), output).as_json()}

    def fetch_kept(self, number, offset, bytes, to):
        self.memory_shared("host").write(self.kept(number).span(offset, bytes), to)
        return {}

    def kept(self, number):
        kept = self.opened_series().kept
        if number not in kept:
            raise TaskError("request", f"no call {number} was kept")
        return kept[number]

    def opened_series(self):
        if self.series is None:
            raise TaskError("request", "no series is open", "", 'Ask for {"do": "open_series", …} first.')
        return self.series

    def hold(self, trial, distribution, seed, mode, outputs, updates, half, patient, own):
        start = time.monotonic()
        loaded, wanted = self.need(), parse_outputs(outputs)
        self.collect()

        def draw():
            return self.drawn(distribution, seed)[0]

        for elsewhere in (False, True) if patient else (True,):
            try:
                self.trials[trial], facts = hold(loaded, draw, mode, half, 42, wanted, updates, elsewhere, own)
                break
            except (TaskError, torch.OutOfMemoryError) as error:
                if elsewhere or getattr(error, "kind", "memory") != "memory":
                    raise
            if self.others_are_here():
                raise TaskError("busy", "the GPU's memory is full of other processes' data", "", "Ask again later.")
        self.collect()
        return {**facts, "seconds": seconds_since(start)}

    def put(self, trial, inputs):
        start = time.monotonic()
        tensors = self.held(trial).inputs()
        for number, offset, *where in inputs:
            self.memory_shared(*where).write(tensors[number], offset)
        del tensors
        self.collect()
        return {"seconds": seconds_since(start)}

    def same_input(self, trial, input, offset, where):
        same = self.memory_shared(where).holds(self.held(trial).inputs()[input], offset)
        self.collect()
        return {"same": same}

    def distance(self, trial, output, dtype, offset, where):
        start = time.monotonic()
        found = self.held(trial).measure(self.candidates_output(trial, output, dtype, offset, where), output)
        return {"distance": found.as_json(), "seconds": seconds_since(start)}

    def outside(self, trial, output, dtype, offset, where, tolerance):
        return {"outside": self.held(trial).outside(self.candidates_output(trial, output, dtype, offset, where), output, tolerance)}

    def candidates_output(self, trial, output, dtype, offset, where):
        """A reader of it, in shared memory."""
        truth, _ = self.held(trial).output(output)
        kind = torch.uint8 if dtype == "bool" else TYPES[dtype]  # a candidate's byte may be neither 0 nor 1
        return self.memory_shared(where).reader(kind, offset, truth.shape, truth.device)

    def fingerprint(self, offset, bytes):
        return {"fingerprint": self.fingerprints.of(self.memory_shared("device").arena.span(offset, bytes))}

    def fetch(self, offset, ranges, to):
        """Ranges of the device arena, from this offset on, one after the other into the orchestrator's."""
        arena = self.memory_shared("device").arena
        pieces = [arena.span(offset + begin, end - begin) for begin, end in ranges]
        if pieces:
            self.memory_shared("host").write(torch.cat(pieces), to)
        return {}

    def imitate(self, trial, output, by, other):
        held = self.held(trial)
        readers = imitations(held, output, by, None if other is None else self.held(other))
        found = [held.measure(read, output).as_json() for read in readers]
        del readers
        self.collect()
        return {"distances": found}

    def let_go(self, trials):
        for trial in trials:
            self.trials.pop(trial, None)
        self.collect()
        return {}

    def held(self, trial):
        self.need()
        if trial not in self.trials:
            raise TaskError("request", f"no trial {trial} is held", "", 'Ask for {"do": "hold", …} first.')
        return self.trials[trial]

    def memory_shared(self, where="host"):
        if where not in self.shared:
            request = '{"do": "share", "path": …}' if where == "host" else '{"do": "share_device", …}'
            raise TaskError("request", f"no memory of the {where} is shared", "", f"Ask for {request} first.")
        return self.shared[where]

    def others_are_here(self):
        if self.loaded.device.type != "cuda":
            return False
        self.collect()
        free, total = torch.cuda.mem_get_info()
        own = torch.cuda.memory_reserved() + (self.shared["device"].arena.size if "device" in self.shared else 0)
        own += self.series.arena.size if self.series else 0
        return total - free - own > OTHERS

    # PyTorch as something to be faster than.

    def baseline(self, kind, numerics, half, seed, turns=None):
        start, turns = time.monotonic(), Turns(turns)
        loaded = self.need()
        self.stopwatch = self.stopwatch or Stopwatch(loaded.device)
        self.baselines.pop(kind, None)
        self.progress(f"preparing {kind}")
        try:
            with turns.beside_others():
                sets = self.sets_of(seed)
            self.baselines[kind], error = prepare(loaded, kind, numerics, half, sets, self.stopwatch, turns)
        except Unavailable as reason:
            self.collect()
            if self.lost_device():
                raise self.lost_device() from reason
            return {"unavailable": str(reason), "seconds": seconds_since(start), "waited": turns.waited}
        return {"relative_l2": error, "seconds": seconds_since(start), "waited": turns.waited}

    def time(self, kind, count, flush, seed, warm):
        start = time.monotonic()
        baseline = self.prepared(kind)
        wall, event = baseline.time(count, self.sets_of(self.sets_seed if seed is None else seed), flush, warm)
        return {"wall_ns": wall, "event_ns": event, "seconds": seconds_since(start)}

    def profile(self, kind, host_calls):
        baseline = self.prepared(kind)
        if self.loaded.device.type != "cuda":
            return {"unavailable": "there is no profiler for the CPU"}
        with baseline.ready():
            return {"activities": activities.record(baseline.call, host_calls)}

    def warm_profiler(self):
        if self.need().device.type == "cuda":
            activities.warm_up()
        return {}

    def memory(self, seed):
        loaded = self.need()
        if loaded.device.type != "cuda":
            return {"unavailable": "memory is only measured on a GPU"}
        with loaded.task.stage("forward", "forward failed"):
            peak = peak_memory(loaded, loaded.draw(seed))
        self.collect()
        return peak

    def release(self):
        self.baselines, self.sets, self.sets_seed, self.stopwatch = {}, [], None, None
        self.collect()
        return {}

    def sets_of(self, seed):
        if self.sets_seed != seed:
            self.sets, self.sets_seed = [], None
            self.sets, self.sets_seed = draw_sets(self.loaded, seed), seed
        return self.sets

    def prepared(self, kind):
        self.need()
        if kind not in self.baselines:
            raise TaskError("request", f"{kind} isn't prepared", "", f'Ask for {{"do": "baseline", "kind": "{kind}"}} first.')
        return self.baselines[kind]

    def collect(self):
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def give_back(self):
        """What PyTorch keeps for later is others' memory, if it is much."""
        if torch.cuda.is_initialized() and torch.cuda.memory_reserved() - torch.cuda.memory_allocated() > MUCH:
            torch.cuda.empty_cache()

    # What the others stand on.

    def studied(self, tensors):
        if self.facts is None:
            self.facts = [distributions.study(tensor) for tensor in tensors]
        return self.facts

    def drawn(self, distribution, seed):
        if distribution == "varied":
            return self.varied.draw(self.loaded.draw, self.studied, seed), True
        tensors = self.loaded.draw(seed)
        self.studied(tensors)
        if distribution in distributions.PLANTED:
            return distributions.plant(self.planted[distribution], tensors, self.facts, seed), "below zero" not in distribution
        again = self.loaded.draw(seed + 1) if distribution == "masks" else None
        return distributions.draw(distribution, tensors, self.facts, seed, again)

    def read_inputs(self, path):
        stored = safetensors.read(path)
        missing = [i for i in range(len(self.loaded.forms)) if f"input_{i}" not in stored]
        if missing:
            raise TaskError("inputs", f"{path} lacks input_{missing[0]}")
        return [stored[f"input_{i}"] for i in range(len(self.loaded.forms))]

    def need(self):
        if self.loaded is None:
            raise TaskError("request", "no task is loaded", "", 'Ask for {"do": "load", "task": …} first.')
        return self.loaded

    def lost_device(self):
        """A GPU fault ends this process's use of the GPU: then only a new process helps."""
        if self.loaded is None or self.loaded.device.type != "cuda":
            return None
        try:
            torch.cuda.synchronize()
            return None
        except Exception as error:
            return TaskError("device", f"the GPU is lost to this process: {error}", "", "Start a new reference process.")


def seconds_since(start):
    return round(time.monotonic() - start, 4)
