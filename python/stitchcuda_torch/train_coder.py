"""Trains the compact Coder: python -m stitchcuda_torch.train_coder FOLDER OPTIONS.

Reads FOLDER/table.safetensors, which `stitchcuda train` writes (src/learn/coder/table.h): a question per region, a row
per choice with features and a time. Writes FOLDER/coder.safetensors, which C++ reads (src/learn/coder/propose.h).
Prints a line of JSON for every epoch, then `done` or `error`.

A committee of small networks regresses log(time of a choice / time of the built-in one). Each learns from two thirds of
the tasks, so a training task can be judged by the networks that have not seen it; how cautious the committee has to be
is chosen that way. All networks are trained together: every tensor has a dimension of members in front.
"""

import hashlib
import json
import math
import os
import sys

import torch
from torch.nn.functional import huber_loss, silu

from .base import safetensors
from .base.errors import TaskError, first_line

HIDDEN = [24, 12]
SHARPNESS, LEAST_GAIN = 10, 0.02  # as in src/learn/coder/propose.h
MOST_DIFFERENCE = 0.7  # of log(time / time): how much slower a far slower choice is doesn't matter
KNOWN_AFTER = 4  # training regions that must have a way before it is proposed
BATCH = 12  # questions, of which a network learns from two thirds
CAUTIONS = [0, 0.5, 1, 2, 3, 5]
NEVER = 1e6  # a caution with which the built-in choice is always kept
NEAR_THE_BEST = 1.05


class Table:
    def __init__(self, path):
        tensors = safetensors.read(path)
        self.about = json.loads(tensors["about"].numpy().tobytes())
        self.features, self.seconds, self.way = tensors["features"], tensors["seconds"], tensors["way"]
        self.estimates, self.first = tensors["estimates"], tensors["first"][:-1]
        self.questions, self.sizes = self.about["questions"], tensors["first"].diff()
        self.logs = torch.log(self.seconds / self.seconds[self.first].repeat_interleave(self.sizes))  # NaN: unknown
        self.wanted = -SHARPNESS * self.logs.clamp(-MOST_DIFFERENCE, MOST_DIFFERENCE).nan_to_num().float()
        known = torch.tensor([int(self.logs[self.rows(each)].isfinite().sum()) for each in range(len(self.questions))])
        self.weight = torch.where(self.logs.isfinite(), 1 / known.clamp(min=1).repeat_interleave(self.sizes), 0)

    def rows(self, question):
        return slice(int(self.first[question]), int(self.first[question] + self.sizes[question]))

    def of(self, name):
        return [number for number, each in enumerate(self.questions) if each["set"] == name]


def first_layers(members, features, seed):
    """The last layer is small: every forecast is nearly 0 at first."""
    generator = torch.Generator().manual_seed(seed)
    layers = []
    for width, out in zip([features, *HIDDEN], [*HIDDEN, 1]):
        scale = math.sqrt(2 / width) * (0.1 if out == 1 else 1)
        layers += [scale * torch.randn(members, width, out, generator=generator), torch.zeros(members, out)]
    return layers


def score(layers, rows):
    """(members, rows): logarithms of speed, times SHARPNESS. The same as Scorer::score in C++."""
    for number in range(0, len(layers), 2):
        rows = rows @ layers[number] + layers[number + 1][:, None]
        if number + 2 < len(layers):
            rows = silu(rows)
    return rows[..., 0]


def leaves_out(options, member, task):
    """A third of the tasks, others for each member. A member alone learns from all."""
    digest = hashlib.sha256(f"{options['seed']} {member} {task}".encode()).digest()
    return options["members"] > 1 and digest[0] % 3 == 0


def losses(layers, table, questions, learns):
    """A member's loss over those of the questions that it learns from. `learns`: (members, all questions)."""
    sizes = table.sizes[questions]
    built_in = (sizes.cumsum(0) - sizes).repeat_interleave(sizes)  # its place in this batch
    at = torch.arange(len(built_in)) - built_in + table.first[questions].repeat_interleave(sizes)
    scores = score(layers, table.features[at])
    # Absolute errors, squared near zero: what is far off decides nothing.
    off = huber_loss(scores - scores[:, built_in], table.wanted[at].expand_as(scores), reduction="none")
    mine = learns[:, questions].repeat_interleave(sizes, 1)
    return (off * table.weight[at] * mine).sum(1) / learns[:, questions].sum(1).clamp(min=1)


def limit_norms(layers):
    """Each member's gradient to a norm of 1."""
    norms = sum(layer.grad.flatten(1).square().sum(1) for layer in layers).sqrt()
    for layer in layers:
        layer.grad /= norms.clamp(min=1).view(-1, *[1] * (layer.dim() - 1))


def train(folder, table, options, say):
    """The layers after the last epoch; goes on from a checkpoint of the same run."""
    training = table.of("train")
    validation = table.of("validation") or training
    learns = torch.tensor(
        [[not leaves_out(options, member, each["task"]) for each in table.questions] for member in range(options["members"])]
    ).float()
    layers = first_layers(options["members"], table.features.shape[1], options["seed"])
    for layer in layers:
        layer.requires_grad_()
    adam, curve = torch.optim.Adam(layers), []
    file = os.path.join(folder, "checkpoint.pt")
    with open(os.path.join(folder, "table.safetensors"), "rb") as opened:
        same = [hashlib.sha256(opened.read()).hexdigest(), {**options, "cautions": []}]
    if os.path.exists(file):
        saved = read_checkpoint(file)
        if saved["run"] != same:
            raise TaskError(
                "checkpoint", "this run was started with other settings or other tasks", file, "resume it with those, or give another output folder"
            )
        with torch.no_grad():
            for layer, value in zip(layers, saved["layers"]):
                layer.copy_(value)
        adam.load_state_dict(saved["adam"])
        curve = saved["curve"]
        for point in curve:
            say(point)
    for epoch in range(len(curve), options["epochs"]):
        adam.param_groups[0]["lr"] = options["rate"] * (1 - epoch / options["epochs"])
        # What an epoch draws depends on the seed and its number alone: a run that is resumed has the same curve.
        generator = torch.Generator().manual_seed(options["seed"] * 1_000_003 + epoch)
        order = torch.tensor(training)[torch.randperm(len(training), generator=generator)]
        sums, batches = 0.0, order.split(BATCH)
        for batch in batches:
            adam.zero_grad()
            each = losses(layers, table, batch, learns)
            each.sum().backward()
            limit_norms(layers)
            adam.step()
            sums += each.mean().item()
        chosen = [taken(table, each, decide(table, each, forecasts(layers, table, each), 1)) for each in validation]
        curve.append({"epoch": epoch + 1, "loss": sums / len(batches), "validation": geometric_mean(chosen)})
        torch.save({"run": same, "layers": [layer.detach() for layer in layers], "adam": adam.state_dict(), "curve": curve}, file + ".part")
        os.replace(file + ".part", file)
        say(curve[-1])
    return [layer.detach() for layer in layers]


def read_checkpoint(file):
    try:
        saved = torch.load(file, weights_only=True)
        if {"run", "layers", "adam", "curve"} <= saved.keys():
            return saved
    except Exception:
        pass
    raise TaskError("checkpoint", "not a checkpoint of training", file, "remove it, or give another output folder")


@torch.no_grad()
def forecasts(layers, table, question, asked=None):
    """Mean and spread over the members (those `asked`) of log(time of each choice / time of the built-in one)."""
    scores = score(layers, table.features[table.rows(question)])
    logs = (scores[:, :1] - scores) / SHARPNESS
    if asked is not None:
        logs = logs[asked]
    return logs.mean(0), logs.std(0) if len(logs) > 1 else torch.zeros(logs.shape[1])


def decide(table, question, forecast, caution, known_ways=None):
    """The choice's index; 0: the built-in one. As `decide` in C++."""
    bound = forecast[0] + caution * forecast[1]
    ways = table.way[table.rows(question)]
    if known_ways is not None:
        if ways[0].item() not in known_ways:
            return 0
        bound = torch.where(torch.isin(ways, torch.tensor(sorted(known_ways), dtype=ways.dtype)), bound, math.inf)
    bound[0] = math.inf
    best = int(bound.argmin())
    return best if bound[best] < math.log(1 - LEAST_GAIN) else 0


def taken(table, question, choice):
    """log(its time / the built-in choice's). A choice that fails is refused by the Verifier: the built-in one stays."""
    log = table.logs[table.rows(question)][choice].item()
    return log if math.isfinite(log) else 0.0


def geometric_mean(logs):
    return math.exp(sum(logs) / len(logs)) if logs else 1.0


def known_ways(table):
    counts = torch.zeros(len(table.about["ways"]))
    for question in table.of("train"):
        counts[table.way[table.rows(question)].unique()] += 1
    return {way for way, count in enumerate(counts.tolist()) if count >= KNOWN_AFTER}


def choose_caution(layers, table, options, ways):
    """On training tasks, each judged by members that didn't learn from it: the caution whose mean plus a standard error
    is lowest. If none gains, the built-in choices are kept."""
    logs = {caution: [] for caution in CAUTIONS}
    for question in table.of("train"):
        task = table.questions[question]["task"]
        asked = torch.tensor([leaves_out(options, member, task) for member in range(options["members"])])
        if asked.sum() < 2:
            continue
        forecast = forecasts(layers, table, question, asked)
        for caution in CAUTIONS:
            logs[caution].append(taken(table, question, decide(table, question, forecast, caution, ways)))
    regions = len(logs[0])
    out = {"caution": NEVER if regions else 1, "out_of_sample": 1.0, "out_of_sample_regions": regions}
    least = 0.0
    for caution, all_logs in logs.items():
        values = torch.tensor(all_logs, dtype=torch.float64)
        bound = values.mean() + values.std() / math.sqrt(regions) if regions > 1 else math.inf
        if bound < least:
            least = bound
            out.update(caution=caution, out_of_sample=geometric_mean(all_logs))
    return out


def compare(layers, table, name, caution, ways, options):
    """On a set that was not trained on: the time of the committee's and others' choices over the built-in one's."""
    coder, generator = "compact Coder", torch.Generator().manual_seed(options["seed"])
    regions, trials = [], {}
    for question in table.of(name):
        rows = table.rows(question)
        logs, known = table.logs[rows], table.logs[rows].isfinite().nonzero()[:, 0]
        if len(known) < 2:
            continue
        forecast = forecasts(layers, table, question)
        choice = decide(table, question, forecast, caution, ways)
        chosen = {
            coder: choice,
            **{f"{coder}, caution {other:g}": decide(table, question, forecast, other, ways) for other in options["cautions"]},
            "built-in Planner": 0,
        }
        for who, estimates in zip(table.about["cost_models"], table.estimates):
            chosen[who] = known[estimates[rows][known].argmin()].item()
        times = {who: math.exp(taken(table, question, each)) for who, each in chosen.items()}
        chosen["best"] = known[logs[known].argmin()].item()
        times |= {"random": logs[known].mean().exp().item(), "best": logs[known].min().exp().item()}
        # Choices tried until one is near the best: its choice, the built-in one and then by forecast, or by chance.
        near = logs[known] <= logs[known].min() + math.log(NEAR_THE_BEST)
        keys = forecast[0][known].clone()
        keys[known == 0], keys[known == choice] = -1e9, -2e9
        for who, order in (
            (coder, keys.argsort()),
            ("built-in, then in order", torch.arange(len(known))),
            ("random", torch.randperm(len(known), generator=generator)),
        ):
            tried = int(near[order].nonzero()[0]) + 1
            trials.setdefault(who, []).append((tried, tried / len(known)))
        texts = table.about["choices"][rows]
        regions.append(
            {
                **{key: table.questions[question][key] for key in ("task", "region", "kind", "key")},
                "choices": len(known),
                "built_in": table.seconds[rows][0].item(),
                "time": times,
                "chosen": {who: texts[each] for who, each in chosen.items()},
            }
        )
    standings = []
    for who in regions[0]["time"] if regions else []:
        logs = torch.tensor([each["time"][who] for each in regions], dtype=torch.float64).log()
        drawn = logs[torch.randint(len(logs), (1000, len(logs)), generator=generator)].mean(1).sort().values.exp()
        standings.append({"who": who, "geomean": logs.mean().exp().item(), "low": drawn[25].item(), "high": drawn[974].item()})
    search = [
        {"who": who, "median_trials": sorted(tried for tried, _ in each)[len(each) // 2], "mean_share": sum(share for _, share in each) / len(each)}
        for who, each in trials.items()
    ]
    return {"problems": len(regions), "time_over_built_in": standings, "search": search, "regions": regions}


def write_weights(file, layers, about):
    text = json.dumps(about).encode()
    tensors = {
        f"members.{member}.layers.{number // 2}.{'bias' if number % 2 else 'weight'}": layer[member]
        for member in range(len(layers[0]))
        for number, layer in enumerate(layers)
    }
    safetensors.write(file + ".part", {**tensors, "about": torch.frombuffer(bytearray(text), dtype=torch.uint8)})
    os.replace(file + ".part", file)


def run(folder, options, say):
    table = Table(os.path.join(folder, "table.safetensors"))
    layers = train(folder, table, options, say)
    ways = known_ways(table)
    found = choose_caution(layers, table, options, ways)
    decided = [taken(table, each, decide(table, each, forecasts(layers, table, each), found["caution"], ways)) for each in table.of("validation")]
    trained = {**found, "epochs": options["epochs"], "validation": geometric_mean(decided)}
    names = dict.fromkeys(["held-out", *(each["set"] for each in table.questions)])
    compared = {name: compare(layers, table, name, found["caution"], ways, options) for name in names if name not in ("train", "validation")}
    about = {
        "stitchcuda_coder": 1,
        "features": table.about["features"],
        "caution": found["caution"],
        "ways": [table.about["ways"][way] for way in sorted(ways)],
        "options": options,
        "trained": trained,
    }
    write_weights(os.path.join(folder, "coder.safetensors"), layers, about)
    return {"trained": trained, "compared": compared}


def main(folder, options):
    def say(line):
        print(json.dumps(line), flush=True)

    try:
        say({"done": run(folder, json.loads(options), say)})
        return 0
    except TaskError as error:
        say({"error": error.as_json()})
    except OSError as error:
        say({"error": TaskError("disk", first_line(error), str(error.filename or "")).as_json()})
    return 2


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
