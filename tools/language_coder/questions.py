"""What is asked in GRPO and in evaluation: tasks of a split, each for both skills.

For the second skill a program comes with it (a separate kernel a node, a mistake, few threads), and the feedback is the
Verifier's own: the program is judged first.
"""

import concurrent.futures
import os
import random
import re

from . import corpus, examine, mutations, prompts
from .frame import Contract


def chosen(entries, split, count, seed, small_first=False):
    """Tasks of a split, the same ones for the same seed; no two of the same structure where there are enough."""
    own = [entry for entry in entries if entry["split"] == split]
    random.Random(seed).shuffle(own)
    if small_first:
        own.sort(key=lambda entry: entry["floor_seconds"])
    seen, first, rest = set(), [], []
    for entry in own:
        (rest if entry["structure"] in seen else first).append(entry)
        seen.add(entry["structure"])
    return (first + rest)[:count]


# Where half of the inputs being negative would leave the operator's domain.
POSITIVE_ONLY = re.compile(r"sqrt|log|pow|\*\*|reciprocal|div|acos|asin| / ")


def both_signs(entry):
    """The task on inputs of both signs, None where it has no results there. Synthetic tasks draw from [0, 1): there a quick look
    (inputs of the task's own kind) takes a program that leaves a ReLU out for right, and GRPO would be told so."""
    head, define, inputs = entry["python"].partition("def get_inputs")
    if POSITIVE_ONLY.search(head):
        return None
    return {**entry, "python": head + define + inputs.replace("torch.rand(", "torch.randn(")}


def elements(entry):
    """Of inputs and output."""
    contract = Contract.from_json(entry["contract"])
    return sum(each.elements for each in (*contract.inputs, contract.output))


def write_tasks(entries, folder):
    os.makedirs(folder, exist_ok=True)
    for entry in entries:
        with open(os.path.join(folder, entry["task"] + ".py"), "w", encoding="utf-8") as file:
            file.write(entry["python"])


def from_scratch(entry):
    return {"task": entry["task"], "skill": "from scratch", "contract": entry["contract"], "new_structure": entry["new_structure"],
            "prompt": prompts.from_scratch(Contract.from_json(entry["contract"]), entry["python"])}


def befores(entries, seed):
    """[(entry, kind, program)]: a program a task that can be better, of each kind in turn."""
    out = []
    for i, entry in enumerate(entries):
        draw = random.Random(f"{seed} {entry['hash']}")
        made = list(corpus.changes_of(entry["answers"], draw))
        wanted = (mutations.SLOW, mutations.WRONG, mutations.BROKEN)[i % 3]
        made.sort(key=lambda change: change[0][0] != wanted)
        if made:
            out.append((entry, made[0][0][0], made[0][1]))
    return out


def from_feedback(entries, judges, seed, profiler=None):
    """Questions of the second skill, and the lines of the programs that they start from. `profiler`: who is asked what limits slow
    ones, where `judges` leave that out."""
    made = befores(entries, seed)
    asked = [{"task": entry["task"], "skill": "before", "kind": kind, "contract": entry["contract"]} for entry, kind, _ in made]
    items = [examine.item_of(question, program) for question, (_, _, program) in zip(asked, made)]
    slow = [i for i, question in enumerate(asked) if profiler and question["kind"] == mutations.SLOW]
    with concurrent.futures.ThreadPoolExecutor(1) as beside:
        profiled = beside.submit(profiler.score_many, [items[i] for i in slow]) if slow else None
        verdicts = judges.score_many(items)
        for i, verdict in zip(slow, profiled.result() if profiled else ()):
            verdicts[i] = verdict or verdicts[i]
    out, lines = [], []
    for question, (entry, _, program), verdict in zip(asked, made, verdicts):
        lines.append(examine.examined(question, program, True, verdict))
        if verdict is None or not verdict["counted"]:
            continue
        said = verdict.get("feedback") or verdict["label"]
        out.append({**question, "skill": "from feedback", "before": program, "feedback": said, "new_structure": entry["new_structure"],
                    "prompt": prompts.from_feedback(Contract.from_json(entry["contract"]), entry["python"], program, said)})
    return out, lines
