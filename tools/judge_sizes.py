#!/usr/bin/env python3
"""judge_sizes.py [EXAMPLE…]: the examples as programs for ranges of sizes, judged at both ends and at secret sizes between.

A line an example, on the emulated GPU or with --device cuda. Goes on where it was ended: what passed is not judged again unless it is named.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]

# As --dynamic has them. Those not named here fix all of their sizes themselves.
RANGES = {
    "alexnet": "batch=x:0=1..8",
    "autoencoder": "batch=images:0=1..64",
    "conv3d_net": "batch=video:0=1..4 frames=video:2=4..12",
    "conv_vit": "batch=x:0=1..8",
    "convnext_block": "batch=images:0=1..4 height=images:2=8..64 width=images:3=8..64",
    "densenet": "batch=x:0=1..4",
    "diffusion_block": "batch=x:0,time:0=1..6 height=x:2=4..24/2 width=x:3=4..24/2",
    "dropout_mlp": "batch=x:0=1..64",
    "efficientnet_mbconv": "batch=x:0=1..8",
    "gpt_block": "batch=x:0=1..4 length=x:1=1..32",
    "gru": "time=x:0=1..12 batch=x:1,h0:1=1..8",
    "gru_bidirectional": "time=x:0=1..12 batch=x:1,h0:1=1..8",
    "inception": "batch=x:0=1..4 height=x:2=4..24 width=x:3=4..24",
    "lenet5": "batch=x:0=1..64",
    "llama_block": "batch=x:0=1..4 length=x:1=1..32",
    "lstm": "batch=x:0,h0:1,c0:1=1..8 time=x:1=1..12",
    "lstm_bidirectional": "batch=x:0,h0:1,c0:1=1..8 time=x:1=1..12",
    "mixture_of_experts": "batch=x:0=1..4 length=x:1=1..32",
    "mlp": "batch=x:0=1..256",
    "mobilenet_v1": "batch=x:0=1..8",
    "mobilenet_v2": "batch=x:0=1..4 side=x:2,x:3=32..64",
    "netvlad": "batch=x:0=1..8",
    "regnet": "batch=x:0=1..4 height=x:2=32..64 width=x:3=32..64",
    "relu_attention": "batch=x:0=1..4",
    "resnet18": "batch=x:0=1..4 side=x:2,x:3=32..64",
    "resnet_bottleneck": "batch=x:0=1..4",
    "rnn_over_time": "time=x:0=2..12 batch=x:1,hidden:0=1..8",
    "shufflenet": "batch=x:0=1..4",
    "squeezenet": "batch=x:0=1..4 height=x:2=48..96 width=x:3=48..96",
    "swin_mlp": "batch=images:0=1..4",
    "swin_v2": "batch=images:0=1..4",
    "t5_attention": "batch=x:0=1..4 length=x:1=1..64",
    "unet": "batch=x:0=1..4 height=x:2=16..64/8 width=x:3=16..64/8",
    "vgg": "batch=x:0=1..4",
    "vision_attention": "batch=x:0=1..4 height=x:2=2..12 width=x:3=2..12",
    "vit": "batch=images:0=1..8",
    "wavenet": "batch=wave:0=1..4 time=wave:2=128..512",
}


def judge(tool, example, folder, words):
    out = folder / example
    dynamic = [word for each in RANGES[example].split() for word in ("--dynamic", each)]
    command = [
        tool,
        "optimize",
        ROOT / "examples" / f"{example}.py",
        "-o",
        out,
        "--force",
        "--budget",
        "1",
        "--json",
        "--store",
        "none",
        "--weights",
        "never",
    ]
    began = time.monotonic()
    ran = subprocess.run([*command, *dynamic, *words], capture_output=True, text=True, check=False)
    line = {"example": example, "ranges": RANGES[example], "seconds": round(time.monotonic() - began, 1), "exit": ran.returncode}
    try:
        document = json.loads(ran.stdout)
    except ValueError:
        return {**line, "result": "failed", "why": (ran.stderr or ran.stdout).strip()[-2000:]}
    verdict = document.get("verdict") or {}
    notes = [note for note in verdict.get("notes", []) if "other sizes" in note or "not judged at" in note]
    passed = ran.returncode == 0 and any("right at other sizes" in note for note in notes)
    plan = json.loads((out / "plan.json").read_text()) if (out / "plan.json").exists() else {}
    plain = not plan.get("steps")
    return {
        **line,
        "result": "passed" if passed else "failed",
        "plain": plain,
        "notes": notes,
        "borders": plan.get("sizes", {}).get("borders") or [],
        "why": why(document, ran),
    }


def why(document, ran):
    error = document.get("error") or {}
    failed = [gate for gate in (document.get("verdict") or {}).get("gates", []) if gate.get("outcome") == "failed"]
    return error.get("message") or "; ".join(f"{gate['gate']}: {gate['summary']}" for gate in failed) or re.sub(r"\s+", " ", ran.stderr)[-300:]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("examples", nargs="*", choices=[[], *RANGES], metavar="EXAMPLE", help="(default: all that have not passed yet)")
    parser.add_argument("--tool", default=ROOT / "build/release/stitchcuda")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/sizes")
    options, words = parser.parse_known_args()
    options.out.mkdir(parents=True, exist_ok=True)
    log = options.out / "results.jsonl"
    before = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    passed = {line["example"] for line in before if line["result"] == "passed"}
    wanted = options.examples or [example for example in RANGES if example not in passed]
    for example in wanted:
        line = judge(options.tool, example, options.out, words)
        with log.open("a") as file:
            file.write(json.dumps(line) + "\n")
        (passed.add if line["result"] == "passed" else passed.discard)(example)
        said = "; ".join(line.get("notes") or []) if line["result"] == "passed" else line["why"]
        print(f"{line['result']:6} {example:20} {line['seconds']:6.1f} s  {said}", flush=True)
    print(f"{len(passed)} of {len(RANGES)} examples passed")
    return 0 if len(passed) == len(RANGES) else 1


if __name__ == "__main__":
    sys.exit(main())
