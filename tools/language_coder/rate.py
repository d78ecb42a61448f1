"""python -m language_coder.rate DATA --tool STITCHCUDA: how fast the reward service judges answers as GRPO sends them.

Groups of answers to a few tasks of DATA (what language_coder.corpus wrote), all sent at once, no two the same: right ones,
wrong ones, some that do not build. Prints verdicts per minute and what the judges' time went to. Flags behind -- go to
`stitchcuda serve` as they are (default: --quick --no-timing --share-processes).
"""

import argparse
import collections
import os
import random
import sys
import tempfile
import time

from . import corpus, examine, judge, mutations, questions

PHASES = ("open", "build", "run")


def answers_to(entry, group, draw, tag):
    """`group` programs of which no two are the same text: half of them right, most of the others wrong or broken."""
    right = list(entry["answers"].values())
    out = []
    for i in range(group):
        text = right[i % len(right)]
        if i % 4 in (2, 3):
            changed = mutations.mutated(text, draw, mutations.WRONG if i % 4 == 2 else mutations.BROKEN)
            text = changed[2] if changed else text
        out.append(f"{text}\n// {tag} {i}")
    return out


def measured(service, entries, group, seed):
    """(seconds, answers)"""
    draw = random.Random(seed)
    asked = [(questions.from_scratch(entry), text) for entry in entries for text in answers_to(entry, group, draw, f"round {seed}")]
    draw.shuffle(asked)
    begin = time.monotonic()
    answers = service.score_many([examine.item_of(question, text) for question, text in asked])
    return time.monotonic() - begin, [answer for answer in answers if answer]


def report(seconds, answers):
    labels = collections.Counter(answer["label"] for answer in answers)
    spent = {name: sum(answer["seconds"].get(name, 0.0) for answer in answers) for name in (*PHASES, "total")}
    gates = collections.Counter()
    for answer in answers:
        for gate in answer["verdict"].get("gates", []):
            gates[gate["gate"]] += gate["seconds"]
    total = spent["total"] or 1.0
    shares = ", ".join(f"{name} {100 * spent[name] / total:.0f} %" for name in PHASES)
    other = max(0.0, total - sum(spent[name] for name in PHASES))
    lines = [f"{len(answers)} answers in {seconds:.1f} s: {60 * len(answers) / seconds:.1f} verdicts per minute",
             "labels: " + ", ".join(f"{name} {count}" for name, count in labels.most_common()),
             f"seconds of judging: {total:.1f}; {shares}, anything else {100 * other / total:.1f} %",
             "gates: " + ", ".join(f"{name} {value:.1f}" for name, value in gates.most_common(6)) + " s"]
    return "\n".join(lines)


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    rest = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--tool", default="stitchcuda")
    parser.add_argument("--device", default="emulated", help="cuda or emulated (default: emulated)")
    parser.add_argument("--tasks", type=int, default=4, help="(default: 4)")
    parser.add_argument("--group", type=int, default=8, help="answers per task (default: 8)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="answers judged at once (default: cores)")
    parser.add_argument("--most-elements", type=int, default=1 << 22, help="of a task's inputs and output (default: 4194304, as in GRPO)")
    parser.add_argument("--rounds", type=int, default=2, help="tasks are open from the second on (default: 2)")
    parser.add_argument("--seed", type=int, default=1, help="(default: 1)")
    options = parser.parse_args(arguments[:rest])
    flags = arguments[rest + 1:] or ["--quick", "--no-timing", "--share-processes"]
    entries = [entry for entry in corpus.read(os.path.join(options.data, "tasks.jsonl.gz")) if questions.elements(entry) <= options.most_elements]
    entries = questions.chosen(entries, "validation", options.tasks, options.seed, small_first=options.device == "emulated")
    if not entries:
        raise SystemExit(f"{options.data} has no tasks of the validation split")
    with tempfile.TemporaryDirectory(prefix="stitchcuda-rate-") as folder:
        # Nothing that was built before.
        os.environ["STITCHCUDA_CACHE"] = os.path.join(folder, "cache")
        questions.write_tasks(entries, os.path.join(folder, "tasks"))
        with judge.Service(options.tool, os.path.join(folder, "tasks"), os.path.join(folder, "state"), options.device, options.jobs,
                           flags) as service:
            for number in range(options.rounds):
                seconds, answers = measured(service, entries, options.group, options.seed + number)
                print(f"round {number + 1}, {len(entries)} tasks, {options.jobs} judges\n" + report(seconds, answers), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
