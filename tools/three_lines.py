#!/usr/bin/env python3
"""The README's three lines with the package that is installed: a model of one's own, torchvision's and transformers'.

    fresh/bin/python tools/three_lines.py      # a venv that has the wheel; torchvision and transformers if there

Each model is optimised (the first program that passes), called, saved, loaded and called again; both results have to
agree with the model's. Then a new process says in how many seconds the same model is a program again, from the cache and by
`load`, beside PyTorch's import. On the emulated GPU where there is no other.
"""

import functools
import os
import subprocess
import sys
import tempfile
import time

BEGIN = time.monotonic()
import torch  # noqa: E402

IMPORTED = time.monotonic() - BEGIN
import stitchcuda  # noqa: E402

MOST = 5e-3  # of relative error: TF32 is allowed on a GPU


def own():
    return torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 10)), (torch.rand(32, 64),), {}


def from_torchvision():
    import torchvision

    return torchvision.models.squeezenet1_1(num_classes=10), (torch.rand(1, 3, 64, 64),), {}


def from_transformers():
    from transformers import BertConfig, BertModel

    model = BertModel(BertConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128, vocab_size=1000))
    return model, (), {"input_ids": torch.randint(0, 1000, (1, 16)), "attention_mask": torch.ones(1, 16, dtype=torch.int64)}


def tensor_of(result):
    return getattr(result, "last_hidden_state", result)


MODELS = {"a model of one's own": own, "torchvision's SqueezeNet": from_torchvision, "transformers' BERT": from_transformers}
optimize = functools.partial(stitchcuda.optimize, quick=True, budget=1)
device = "cuda" if torch.cuda.is_available() else "cpu"


def made(name):
    torch.manual_seed(0)
    model, arguments, keywords = MODELS[name]()
    return model.to(device).eval(), tuple(one.to(device) for one in arguments), {key: one.to(device) for key, one in keywords.items()}


def tried(name, folder):
    """(seconds, relative error, relative error once loaded)."""
    model, arguments, keywords = made(name)
    begin = time.monotonic()
    fast = optimize(model, arguments, keywords)
    seconds = time.monotonic() - begin
    with torch.no_grad():
        expected, got = (tensor_of(one(*arguments, **keywords)) for one in (model, fast))
        fast.save(folder)
        loaded = tensor_of(stitchcuda.load(folder)(*arguments, **keywords))
    return seconds, *(float((one - expected).norm() / expected.norm()) for one in (got, loaded))


def again(name, folder):
    """In a new process."""
    said = [f"import torch {IMPORTED:.2f} s"]
    model, arguments, keywords = made(name)
    for what, work in (("optimize", lambda: optimize(model, arguments, keywords, progress=False)), ("load", lambda: stitchcuda.load(folder))):
        begin = time.monotonic()
        work()
        said.append(f"{what} {time.monotonic() - begin:.2f} s")
    print("  a new process: " + ", ".join(said), flush=True)


def main():
    if sys.argv[1:2] == ["--again"]:
        return again(*sys.argv[2:])
    print(f"stitchcuda in {os.path.dirname(stitchcuda.__file__)}, PyTorch {torch.__version__}, {'a GPU' if device == 'cuda' else 'the emulated GPU'}")
    wrong = 0
    for name in MODELS:
        with tempfile.TemporaryDirectory() as scratch:
            folder = os.path.join(scratch, "saved")
            try:
                seconds, error, loaded = tried(name, folder)
            except ModuleNotFoundError as missing:
                print(f"{name}: SKIPPED, {missing.name} is not installed")
                continue
            wrong += not (error < MOST and loaded < MOST)
            print(f"{name}: optimised in {seconds:.0f} s, relative error {error:.1e}, saved and loaded {loaded:.1e}", flush=True)
            subprocess.run([sys.executable, __file__, "--again", name, folder], check=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
