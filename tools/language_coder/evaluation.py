"""What a network's answers to held-out questions are worth: written, judged, a line of JSON each; speeds for as long as there is time."""

import concurrent.futures
import json
import os
import time

from . import examine, judge, speak


def say(*text):
    print(f"[{time.strftime('%H:%M:%S')}]", *text, flush=True)


def write_lines(path, lines):
    with open(path, "a", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line) + "\n")


def read_lines(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def evaluate(stage, model, vocabulary, asked, judged_by, out, most_tokens, temperature, seed, samples=1):
    """Lines, which out/evaluation.jsonl gets, too, each as soon as it is judged."""
    begin = time.monotonic()
    asked = [question for question in asked for _ in range(samples)]
    said = speak.answers(model, vocabulary, [each["prompt"] for each in asked], most_tokens, temperature, seed=seed)
    written = time.monotonic() - begin
    items = [examine.item_of(question, text) for question, (text, _) in zip(asked, said)]
    lines = []

    def judged(i, verdict):
        question, (text, ended) = asked[i], said[i]
        lines.append({"stage": stage, **examine.examined(question, text, ended, verdict), "new_structure": question["new_structure"],
                      "answer": text, "code": items[i]["code"]})
        write_lines(os.path.join(out, "evaluation.jsonl"), lines[-1:])
    judged_by.score_many(items, judged)
    say(f"{stage}: {len(lines)} answers in {written:.1f} s, judged in {time.monotonic() - begin - written:.1f} s")
    print(examine.table([(stage, lines)]), flush=True)
    return lines


def time_right_ones(stages, service, out, at_once):
    """Speedups over eager PyTorch of right answers, which the lines get. Task by task, since opening one takes longer than a clock
    does: those first that most stages have right answers to."""
    turns = {}  # (task, source): lines
    stages_of = {}
    for stage, lines in stages:
        for line in lines:
            if line.get("right") and line.get("code"):
                turns.setdefault((line["task"], line["code"]), []).append(line)
                stages_of.setdefault(line["task"], set()).add((stage, line["skill"]))
    turns = dict(sorted(turns.items(), key=lambda item: (-len(stages_of[item[0][0]]), item[0][0], -len(item[1]))))
    say(f"timing {len(turns)} right programs")

    def timed(item):
        (task, code), lines = item
        verdict = service.score_many([{"task": task, "code": code, "language": "cuda"}])[0]
        speedup = verdict and verdict["components"].get("speedup")
        write_lines(os.path.join(out, "timed.jsonl"), [{"task": task, "answers": len(lines), "verdict": verdict}])
        for line in lines if speedup else ():
            line.update(speedup=speedup, faster=speedup > 1.0)
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        list(pool.map(timed, turns.items()))


def clock(options, tasks):
    """The service that times."""
    return judge.Service(options.tool, tasks, os.path.join(options.out, "timed"), options.judge, options.jobs, ["--baselines", "eager"])
