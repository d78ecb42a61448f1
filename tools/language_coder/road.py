"""python -m language_coder.road warm-up | learn | miniature: the language Coder from a corpus to a table.

  warm-up DATA OUT --seconds 80             supervised, no service needed: OUT/warm_up
  learn DATA OUT --tool STITCHCUDA --seconds 320
                                            evaluation, GRPO with the rubric and without, evaluation: OUT/table.md
  miniature OUT --tool STITCHCUDA           all of it on the CPU with the emulated device, in a few minutes

DATA is what language_coder.corpus wrote. Every phase writes as it goes; what time does not allow is left out and said.
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import sys
import threading
import time
import traceback

from . import corpus, diagnose, examine, mutations, network, questions, reinforce, speak, warm_up, words

CONTEXT = 2048


def device_of(name):
    import torch
    return torch.device(name if name != "auto" else "cuda" if torch.cuda.is_available() else "cpu")


def say(*text):
    print(f"[{time.strftime('%H:%M:%S')}]", *text, flush=True)


def tasks_of(options):
    """(held out, to learn from)"""
    entries = corpus.read(os.path.join(options.data, "tasks.jsonl.gz"))
    return (questions.chosen(entries, "test", options.held_out, 1, options.small_first),
            questions.chosen(entries, "train", options.train_tasks, options.seed, options.small_first))


def run_warm_up(options):
    rows = corpus.read(os.path.join(options.data, "rows.jsonl.gz"))
    if options.command == "miniature":
        # A minute teaches so small a network a few tasks, and GRPO needs groups with some right answers: its own tasks.
        asked = {entry["task"] for entry in tasks_of(options)[1]}
        rows = [row for row in rows if row["task"] in asked and row["kind"] != mutations.SHORTCUT]
    place = os.path.join(options.data, "tokenizer.json")
    if os.path.exists(place):
        vocabulary = words.load(options.data)
    else:
        made = words.train((row["prompt"] + row["answer"] for row in rows), options.vocabulary)
        vocabulary = words.wrapped(made)
    # Answers to tasks alone are the rarer rows, and the harder ones.
    rows += [row for row in rows if row["skill"] == "from scratch" and row["kind"] != mutations.SHORTCUT]
    model = network.fresh(options.size, len(vocabulary), CONTEXT, options.seed).to(device_of(options.device))
    say(f"{network.parameters(model) / 1e6:.1f} M parameters, {len(vocabulary)} tokens, {len(rows)} rows")
    out = os.path.join(options.out, "warm_up")
    steps = warm_up.train(model, vocabulary, rows, out, options.seconds, CONTEXT, options.batch, rate=options.rate, seed=options.seed,
                           good_enough=0.03 if options.command == "miniature" else 0.0)
    say(f"{steps} steps of warm-up")
    return model, vocabulary


def evaluate(stage, model, vocabulary, asked, judges, options):
    say(f"before {stage}: {json.dumps(diagnose.line(next(model.parameters()).device))}")
    begin = time.monotonic()
    said = speak.answers(model, vocabulary, [each["prompt"] for each in asked], options.tokens, options.temperature, seed=options.seed)
    written = time.monotonic() - begin
    verdicts = judges.score_many([examine.item_of(question, text) for question, (text, _) in zip(asked, said)])
    lines = [examine.examined(question, text, ended, verdict) for question, (text, ended), verdict in zip(asked, said, verdicts)]
    for line, question, (text, _) in zip(lines, asked, said):
        line["code"] = examine.item_of(question, text)["code"]
    with open(os.path.join(options.out, "evaluation.jsonl"), "a", encoding="utf-8") as file:
        for line, question, (text, _) in zip(lines, asked, said):
            line = {name: value for name, value in line.items() if name != "code"}
            file.write(json.dumps({"stage": stage, **line, "new_structure": question["new_structure"], "answer": text}) + "\n")
    say(f"{stage}: {len(lines)} answers in {written:.1f} s, judged in {time.monotonic() - begin - written:.1f} s")
    print(examine.table([(stage, lines)]), flush=True)
    return lines


def run_learn(options):
    from . import judge
    begin = time.monotonic()
    os.makedirs(options.out, exist_ok=True)
    held_out, trained = tasks_of(options)
    folder = os.path.join(options.out, "tasks")
    questions.write_tasks(held_out + trained, folder)
    stages, failed = [], []
    imported = threading.Thread(target=reinforce.imports, daemon=True)  # seconds, beside the first verdicts
    imported.start()
    # Nothing is timed here: a time takes the GPU alone, for seconds. On a GPU every other gate is asked: with --quick, inputs of
    # the task's own kind alone, the ReLU of torch.rand could be left out.
    more = ["--no-timing", *([] if options.judge == "cuda" else ["--quick"])]
    with judge.Judges(options.tool, folder, os.path.join(options.out, "state"), options.judge, options.services, options.jobs, more) as judges:
        clock = threading.Timer(max(1.0, options.seconds - 5), give_up, (stages, options, judges))
        clock.daemon = True
        clock.start()
        say(f"{options.services} services after {time.monotonic() - begin:.1f} s")
        repairs, lines = questions.from_feedback(trained + held_out, judges, options.seed)
        mine = {entry["task"] for entry in trained}
        stages.append(("programs to improve", [line for line in lines if line["task"] not in mine]))
        asked = [questions.from_scratch(entry) for entry in held_out] + [each for each in repairs if each["task"] not in mine]
        to_learn = [questions.from_scratch(entry) for entry in trained] + [each for each in repairs if each["task"] in mine]
        say(f"{len(asked)} questions, {len(to_learn)} to learn from, after {time.monotonic() - begin:.1f} s")
        place = os.path.join(options.out, "warm_up")
        vocabulary, device = words.load(place), device_of(options.device)
        model = network.load(place).to(device)
        imported.join()
        begun = time.monotonic()
        stages.append(("warm-up", evaluate("warm-up", model, vocabulary, asked, judges, options)))
        evaluating = time.monotonic() - begun
        left = options.seconds - options.timing_seconds - (time.monotonic() - begin)
        arms = list(options.arms)
        while len(arms) > 1 and left / len(arms) < 60:
            say(f"there is no time for the reward {arms.pop()}")
        # GRPO goes first: an evaluation that the clock cuts off is less than no training.
        share, steps = max(left / len(arms) - evaluating, 0.6 * left / len(arms)), options.steps
        say(f"{left:.0f} s are left; an evaluation takes {evaluating:.0f} s; GRPO {share:.0f} s with each reward")
        for kind in arms:
            if share < 5:
                say(f"no time for GRPO with the reward {kind}")
                continue
            try:
                model, steps = reinforce.train(network.load(place).to(device), vocabulary, to_learn, judges, os.path.join(options.out, kind), kind,
                                        time.monotonic() + share, steps, options.prompts, options.group, options.tokens,
                                        options.grpo_rate, options.seed, options.iterations, temperature=options.temperature)
                stages.append((f"GRPO, {kind}", evaluate(f"GRPO, {kind}", model, vocabulary, asked, judges, options)))
                write_table(stages, options.out)
            except Exception:  # the other arm goes on
                traceback.print_exc()
                failed.append(kind)
        clock.cancel()
    if options.timing_seconds:
        time_right_ones(stages, folder, begin + options.seconds - 8, options)
    write_table(stages, options.out)
    say(f"{time.monotonic() - begin:.0f} s in all")
    if failed:
        raise SystemExit(f"GRPO failed with the reward {', '.join(failed)}")
    return stages


def time_right_ones(stages, folder, until, options):
    """Speedups over eager PyTorch of right answers, for as long as there is time; a stage's turn after the other's."""
    from . import judge
    turns = {}  # (task, source): lines
    own = [[line for line in lines if line.get("right") and line.get("code")] for stage, lines in stages[1:]]
    for row in itertools.zip_longest(*own):
        for line in filter(None, row):
            turns.setdefault((line["task"], line["code"]), []).append(line)
    say(f"timing {len(turns)} right programs")
    with judge.Judges(options.tool, folder, os.path.join(options.out, "timed"), options.judge, options.clocks, options.jobs,
                      ["--baselines", "eager"]) as judges:
        clock = threading.Timer(max(1.0, until - time.monotonic()), give_up, (stages, options, judges))
        clock.daemon = True
        clock.start()

        def timed(item):
            (task, code), lines = item
            verdict = judges.score_many([{"task": task, "code": code, "language": "cuda"}])[0]
            speedup = verdict and verdict["components"].get("speedup")
            with open(os.path.join(options.out, "timed.jsonl"), "a", encoding="utf-8") as file:
                file.write(json.dumps({"task": task, "answers": len(lines), "verdict": verdict}) + "\n")
            for line in lines if speedup else ():
                line.update(speedup=speedup, faster=speedup > 1.0)
        with concurrent.futures.ThreadPoolExecutor(4 * options.clocks) as pool:
            list(pool.map(timed, turns.items()))
        clock.cancel()


def give_up(stages, options, judges):
    """The clock has the last word: what there is, is written."""
    say(f"{options.seconds:.0f} s are over")
    write_table(stages, options.out)
    for process in judges.processes:
        process.kill()
    os._exit(0 if len(stages) > 2 else 3)


def write_table(stages, out):
    text = examine.table([(stage, [{**line, "skill": "from feedback"} if line["skill"] == "before" else line for line in lines])
                          for stage, lines in stages])
    rollouts = []
    for kind in reinforce.REWARDS:
        place = os.path.join(out, kind, "rollouts.jsonl")
        if os.path.exists(place):
            with open(place, encoding="utf-8") as file:
                rollouts += [json.loads(line) for line in file]
    if rollouts:
        text += "\n\n" + examine.curve(rollouts)
    with open(os.path.join(out, "table.md"), "w", encoding="utf-8") as file:
        file.write(text + "\n")
    print(text, flush=True)


def run_miniature(options):
    data = os.path.join(options.out, "data")
    corpus.main([data, "--tool", options.tool, "--compose", "250", "--most-tasks", "30", "--least-time", "1e-9", "--most-time", "4e-7",
                 "--most-elements", "65536", "--most-characters", "1400"])
    options.data, options.out = data, os.path.join(options.out, "run")
    run_warm_up(options)
    options.seconds = 1e6  # as many steps as were asked for
    run_learn(options)


def parsed(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("warm-up", "learn", "miniature"):
        small = name == "miniature"
        command = commands.add_parser(name)
        if not small:
            command.add_argument("data")
        command.add_argument("out")
        command.add_argument("--seconds", type=float, default={"warm-up": 80, "learn": 320, "miniature": 240}[name])
        command.add_argument("--seed", type=int, default=1)
        command.add_argument("--device", default="cpu" if small else "auto", help="of the network")
        command.add_argument("--size", choices=network.SIZES, default="tiny" if small else "base")
        command.add_argument("--vocabulary", type=int, default=1024 if small else 4096)
        command.add_argument("--batch", type=int, default=2048 if small else 49152, help="tokens of a batch")
        command.add_argument("--rate", type=float, default=4e-3 if small else 1.5e-3)
        if name == "warm-up":
            continue
        command.add_argument("--tool", default="stitchcuda")
        command.add_argument("--judge", default="emulated" if small else "cuda", help="the device that judges: cuda or emulated")
        command.add_argument("--services", type=int, default=1 if small else 12)
        command.add_argument("--jobs", type=int, default=2)
        command.add_argument("--clocks", type=int, default=4, help="services that time right answers at the end, on a GPU")
        command.add_argument("--timing-seconds", type=float, default=0 if small else 40, help="seconds kept for that")
        command.add_argument("--small-first", action="store_true", default=small, help="the smallest tasks instead of any")
        command.add_argument("--held-out", type=int, default=1 if small else 16, help="tasks of the evaluation")
        command.add_argument("--train-tasks", type=int, default=2 if small else 12, help="tasks of GRPO")
        command.add_argument("--arms", nargs="+", choices=reinforce.REWARDS, default=["combined"] if small else list(reinforce.REWARDS))
        command.add_argument("--steps", type=int, default=1 if small else 1000)
        command.add_argument("--prompts", type=int, default=1 if small else 8)
        command.add_argument("--group", type=int, default=4 if small else 6)
        command.add_argument("--iterations", type=int, default=1 if small else 3)
        command.add_argument("--tokens", type=int, default=300 if small else 720)
        command.add_argument("--grpo-rate", type=float, default=1e-4)
        command.add_argument("--temperature", type=float, default=0.8)
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parsed(arguments)
    {"warm-up": run_warm_up, "learn": run_learn, "miniature": run_miniature}[options.command](options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
