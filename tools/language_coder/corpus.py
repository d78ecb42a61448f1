"""python -m language_coder.corpus OUT --tool STITCHCUDA: pairs of prompt and answer over synthetic tasks.

Tasks are composed by `stitchcuda synth`; answers are the built-in Coder's programs (`stitchcuda code`) in short form, at
three levels: a kernel a node ("separate"), fused as the Planner has it ("fused"), fused with other blocks ("blocks").
OUT gets rows.jsonl.gz (of the split train), tasks.jsonl.gz (contract, split, answers, PyTorch text) and report.json.
"""

import argparse
import collections
import concurrent.futures
import gzip
import hashlib
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

from . import compact, feedback, frame, mutations, prompts

LEVELS = ("fused", "separate", "blocks")  # in this order: equal texts count for the first
# Their programs call libraries, keep state, or are longer than an answer may be.
LEFT_OUT = re.compile(r"nn\.(Conv|LSTM|GRU|RNN|BatchNorm)|scaled_dot_product|nn\.Linear[\s\S]*nn\.Linear")


def split_of(graph_hash):
    """Of ten tasks eight to train on, one to look at, one held out: by the canonical graph alone."""
    return {0: "test", 1: "validation"}.get(int(graph_hash[:8], 16) % 10, "train")


def structure_of(python):
    """What a task computes, whatever its sizes: how new a held-out task is."""
    text = "\n".join(re.sub(r"\d+", "#", line) for line in prompts.task_lines(python))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def run(tool, *arguments):
    done = subprocess.run([tool, *arguments], capture_output=True, text=True, env={**os.environ, "STITCHCUDA_STORE": "none"})
    if done.returncode != 0:
        raise compact.Unfit("stitchcuda code: " + (done.stderr.strip().split("\n") or [""])[0][:100])
    return done.stdout


def most_elements(graph_text):
    return max(math.prod(map(int, shape.split(","))) if shape else 1 for shape in re.findall(r": \w+\[([\d,]*)\]", graph_text))


def answers_of(tool, graph, contract_from, draw, folder):
    """Level: answer. What has no short form is left out; `reasons` says why."""
    out, reasons, contract = {}, {}, None
    for level in LEVELS:
        if level == "blocks" and "fused" not in out:
            continue
        program = os.path.join(folder, level)
        try:
            if level == "separate":
                run(tool, "code", graph, "-o", program, "--weights", "never", "--plain")
            elif level == "fused":
                run(tool, "code", graph, "-o", program, "--weights", "never")
            else:
                plan = os.path.join(folder, "plan.json")
                run(tool, "plan", graph, "-o", plan)
                with open(plan, encoding="utf-8") as file:
                    document = json.load(file)
                for region in document["regions"]:
                    values = region.get("knobs", {}).get("threads", {}).get("values")
                    if values:
                        region["choices"]["threads"] = draw.choice([each for each in values if each <= 128] or values)
                with open(plan, "w", encoding="utf-8") as file:
                    json.dump(document, file)
                run(tool, "code", graph, "-o", program, "--weights", "never", "--plan", plan)
            with open(os.path.join(program, "manifest.json"), encoding="utf-8") as file:
                contract = contract or contract_from(json.load(file))
            answer = compact.short_answer(program, contract)
            if answer not in out.values():
                out[level] = answer
        except (compact.Unfit, ValueError) as unfit:
            reasons[level] = str(unfit)
        finally:
            shutil.rmtree(program, ignore_errors=True)
    return contract, out, reasons


def task_entry(tool, synth, line, options):
    """A line of tasks.jsonl, or (None, why not)."""
    with open(os.path.join(synth, line["task"]), encoding="utf-8") as file:
        python = file.read()
    if LEFT_OUT.search(python) or options.recipes and not set(line["recipes"]) <= set(options.recipes):
        return None, "other recipes"
    graph = os.path.join(synth, line["graph"])
    with open(os.path.join(graph, "graph.txt"), encoding="utf-8") as file:
        most = most_elements(file.read())
    if most > options.most_elements:
        return None, "too large"
    draw = random.Random(line["hash"])
    with tempfile.TemporaryDirectory(prefix="stitchcuda-corpus-") as folder:
        contract, answers, reasons = answers_of(tool, graph, lambda manifest: frame.contract_of(manifest, most), draw, folder)
    answers = {level: text for level, text in answers.items() if len(text) <= options.most_characters}
    if not answers:
        return None, reasons.get("fused", "too long")
    return {"task": line["name"], "hash": line["hash"], "split": split_of(line["hash"]), "structure": structure_of(python),
            "recipes": line["recipes"], "dtype": line["dtype"], "floor_seconds": line["floor_seconds"], "contract": contract.to_json(),
            "python": python, "answers": answers}, None


def rows_of(entry, draw, most_before, shortcuts=0.0):
    """Both skills. From scratch: every level. From feedback: what is slow made fast, what is wrong or broken repaired."""
    contract = frame.Contract.from_json(entry["contract"])
    common = {"task": entry["task"], "split": entry["split"]}
    prompt = prompts.from_scratch(contract, entry["python"])
    for level, answer in entry["answers"].items():
        yield {**common, "skill": "from scratch", "kind": level, "prompt": prompt, "answer": answer}
    if draw.random() < shortcuts:
        answer = mutations.shortcut(draw.choice(list(entry["answers"].values())))
        yield {**common, "skill": "from scratch", "kind": mutations.SHORTCUT, "prompt": prompt, "answer": answer}
    for kind, before, answer in changes_of(entry["answers"], draw):
        if len(before) <= most_before:
            told = prompts.from_feedback(contract, entry["python"], before, feedback.imagined(kind, before, contract, draw))
            yield {**common, "skill": "from feedback", "kind": kind[0], "prompt": told, "answer": answer}


def changes_of(answers, draw):
    """((kind, name), before, after)"""
    best = next(answers[level] for level in LEVELS if level in answers)
    if "separate" in answers and best != answers["separate"]:
        yield (mutations.SLOW, "separate"), answers["separate"], best
    slow = mutations.mutated(best, draw, mutations.SLOW)
    if slow:
        yield slow[:2], slow[2], best
    for kind in (mutations.BROKEN, mutations.WRONG):
        answer = draw.choice(list(answers.values()))
        made = mutations.mutated(answer, draw, kind)
        if made:
            yield made[:2], made[2], answer


def make(options):
    os.makedirs(options.out, exist_ok=True)
    counts, entries = collections.Counter(), []
    if options.of:
        entries = unlike([entry for folder in options.of for entry in read(os.path.join(folder, "tasks.jsonl.gz"))])
        write(options, entries, counts)
        return counts
    until = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory(prefix="stitchcuda-synth-") as scratch:
        synth = os.path.join(scratch, "synth")
        run(options.tool, "synth", "-n", str(options.compose), "-o", synth, "--no-torch", "--seed", str(options.seed),
            "--least-time", str(options.least_time), "--most-time", str(options.most_time))
        with open(os.path.join(synth, "tasks.jsonl"), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            try:
                for entry, reason in pool.map(lambda line: task_entry(options.tool, synth, line, options), lines):
                    counts["tasks" if entry else "left out: " + reason] += 1
                    if entry:
                        entry["task"] = f"s{options.seed}_{entry['task']}"
                        entry["contract"]["task"] = entry["task"]
                        entries.append(entry)
                        if len(entries) % 100 == 0:
                            print(f"{len(entries)} tasks of {sum(counts.values())} composed", file=sys.stderr, flush=True)
                    if len(entries) >= options.most_tasks or time.monotonic() > until:
                        break
            except (KeyboardInterrupt, OSError) as stopped:
                print(f"stopped ({stopped or 'interrupted'}): what there is, is written", file=sys.stderr)
                if not entries:
                    raise
            pool.shutdown(cancel_futures=True)
    write(options, entries, counts)
    return counts


def unlike(entries):
    """Each graph once: seeds of synth may meet."""
    return list({entry["hash"]: entry for entry in reversed(entries)}.values())[::-1]


def write(options, entries, counts):
    trained = {entry["structure"] for entry in entries if entry["split"] == "train"}
    with gzip.open(os.path.join(options.out, "rows.jsonl.gz"), "wt", encoding="utf-8") as rows, \
            gzip.open(os.path.join(options.out, "tasks.jsonl.gz"), "wt", encoding="utf-8") as tasks:
        for entry in entries:
            entry["new_structure"] = entry["structure"] not in trained
            counts[f"split {entry['split']}"] += 1
            if entry["split"] == "train":
                draw = random.Random(f"{options.seed} {entry['hash']}")
                for row in rows_of(entry, draw, options.most_characters, options.shortcuts):
                    counts[f"rows {row['skill']}: {row['kind']}"] += 1
                    rows.write(json.dumps(row) + "\n")
            tasks.write(json.dumps(entry) + "\n")
    with open(os.path.join(options.out, "report.json"), "w", encoding="utf-8") as file:
        json.dump(dict(sorted(counts.items())), file, indent=1)


def write_tokenizer(options):
    from . import words
    made = words.train((row["prompt"] + row["answer"] for row in read(os.path.join(options.out, "rows.jsonl.gz"))), options.vocabulary)
    made.save(os.path.join(options.out, "tokenizer.json"))


def read(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def parsed(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--tool", default="stitchcuda")
    parser.add_argument("--of", nargs="*", default=[], metavar="FOLDER", help="compose nothing: the tasks of these folders together")
    parser.add_argument("--compose", type=int, default=2000, help="tasks that synth composes; about a fifth has short programs (2000)")
    parser.add_argument("--recipes", nargs="+", default=[], help="tasks of these recipes of synth alone, such as activation clamp (any)")
    parser.add_argument("--most-tasks", type=int, default=10**9)
    parser.add_argument("--minutes", type=float, default=1e6, help="stop then, with the tasks made so far")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--least-time", type=float, default=1e-6, help="seconds of a task's floor on the GPU (1e-6)")
    parser.add_argument("--most-time", type=float, default=2e-4)
    parser.add_argument("--most-elements", type=int, default=1 << 25)
    parser.add_argument("--most-characters", type=int, default=2600, help="of an answer (2600: about 700 tokens)")
    parser.add_argument("--vocabulary", type=int, default=0, help="also train a tokenizer with this many tokens: tokenizer.json")
    parser.add_argument("--shortcuts", type=float, default=0.06,
                        help="share of the tasks that also get an answer that cheats: what GRPO has to unlearn (0.06)")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parsed(arguments)
    for name, count in sorted(make(options).items()):
        print(f"{count:6d}  {name}")
    if options.vocabulary:
        write_tokenizer(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
