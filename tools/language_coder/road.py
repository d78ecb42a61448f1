"""python -m language_coder.road warm-up | learn | miniature: the language Coder from a corpus to a table.

  warm-up DATA OUT --seconds 80             supervised, no service needed: OUT/warm_up
  learn DATA OUT --tool STITCHCUDA --seconds 320
                                            evaluation, GRPO with the rubric and without, evaluation: OUT/table.md
  miniature OUT --tool STITCHCUDA           all of it on the CPU with the emulated device, in a few minutes

DATA is what language_coder.corpus wrote. Every phase writes as it goes; what time does not allow is left out and said.
"""

import argparse
import json
import os
import sys
import threading
import time
import traceback

from . import corpus, examine, mutations, network, questions, reinforce, speak, warm_up, words

CONTEXT = 2048


def device_of(name):
    import torch
    return torch.device(name if name != "auto" else "cuda" if torch.cuda.is_available() else "cpu")


def say(*text):
    print(f"[{time.strftime('%H:%M:%S')}]", *text, flush=True)


def run_warm_up(options):
    rows = corpus.read(os.path.join(options.data, "rows.jsonl.gz"))
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
    steps = warm_up.train(model, vocabulary, rows, out, options.seconds, CONTEXT, options.batch, rate=options.rate, seed=options.seed)
    say(f"{steps} steps of warm-up")
    return model, vocabulary


def evaluate(stage, model, vocabulary, asked, judges, options):
    begin = time.monotonic()
    said = speak.answers(model, vocabulary, [each["prompt"] for each in asked], options.tokens, options.temperature, seed=options.seed)
    written = time.monotonic() - begin
    verdicts = judges.score_many([examine.item_of(question, text) for question, (text, _) in zip(asked, said)])
    lines = [examine.examined(question, text, ended, verdict) for question, (text, ended), verdict in zip(asked, said, verdicts)]
    with open(os.path.join(options.out, "evaluation.jsonl"), "a", encoding="utf-8") as file:
        for line, question, (text, _) in zip(lines, asked, said):
            file.write(json.dumps({"stage": stage, **line, "new_structure": question["new_structure"], "answer": text}) + "\n")
    say(f"{stage}: {len(lines)} answers in {written:.1f} s, judged in {time.monotonic() - begin - written:.1f} s")
    print(examine.table([(stage, lines)]), flush=True)
    return lines


def run_learn(options):
    from . import judge
    begin = time.monotonic()
    os.makedirs(options.out, exist_ok=True)
    entries = corpus.read(os.path.join(options.data, "tasks.jsonl.gz"))
    held_out = questions.chosen(entries, "test", options.held_out, 1, options.small_first)
    trained = questions.chosen(entries, "train", options.train_tasks, options.seed, options.small_first)
    folder = os.path.join(options.out, "tasks")
    questions.write_tasks(held_out + trained, folder)
    # On a GPU every gate is asked: with --quick, inputs of the task's own kind alone, ReLU of torch.rand could be left out.
    more = ["--baselines", "eager"] if options.judge == "cuda" else ["--quick"]
    more += ["--no-timing"] if options.no_timing else []
    stages, failed = [], []
    with judge.Judges(options.tool, folder, os.path.join(options.out, "state"), options.judge, options.services, options.jobs, more) as judges:
        clock = threading.Timer(max(1.0, options.seconds - 5), give_up, (stages, options, judges))
        clock.daemon = True
        clock.start()
        say(f"{options.services} services after {time.monotonic() - begin:.1f} s")
        asked, lines = questions.from_feedback(held_out, judges, options.seed)
        stages.append(("programs to improve", lines))
        asked = [questions.from_scratch(entry) for entry in held_out] + asked
        say(f"{len(asked)} questions after {time.monotonic() - begin:.1f} s")
        place = os.path.join(options.out, "warm_up")
        vocabulary, device = words.load(place), device_of(options.device)
        used = time.monotonic()
        stages.append(("warm-up", evaluate("warm-up", network.load(place).to(device), vocabulary, asked, judges, options)))
        used = time.monotonic() - used
        repairs, _ = questions.from_feedback(trained, judges, options.seed + 1)
        to_learn = [questions.from_scratch(entry) for entry in trained] + repairs
        say(f"{len(to_learn)} questions to learn from after {time.monotonic() - begin:.1f} s")
        # An evaluation costs about what the first one did: its tasks were open.
        evaluating = used
        for i, kind in enumerate(options.arms):
            share = (options.seconds - (time.monotonic() - begin)) / (len(options.arms) - i)
            until = time.monotonic() + share - evaluating
            if share < evaluating + 10:
                say(f"no time for GRPO with the reward {kind}: {share:.0f} s are left for it")
                continue
            try:
                model = network.load(place).to(device)
                model = reinforce.train(model, vocabulary, to_learn, judges, os.path.join(options.out, kind), kind, until, options.steps,
                                        options.prompts, options.group, options.tokens, options.grpo_rate, options.seed, options.iterations)
                begun = time.monotonic()
                stages.append((f"GRPO, {kind}", evaluate(f"GRPO, {kind}", model, vocabulary, asked, judges, options)))
                evaluating = time.monotonic() - begun
                write_table(stages, options.out)
            except Exception:  # the other arm goes on
                traceback.print_exc()
                failed.append(kind)
        clock.cancel()
    write_table(stages, options.out)
    say(f"{time.monotonic() - begin:.0f} s in all")
    if failed:
        raise SystemExit(f"GRPO failed with the reward {', '.join(failed)}")
    return stages


def give_up(stages, options, judges):
    """The clock has the last word: what there is, is written."""
    say(f"{options.seconds:.0f} s are over")
    write_table(stages, options.out)
    judges.stop()
    os._exit(3)


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
        command.add_argument("--seconds", type=float, default={"warm-up": 80, "learn": 320, "miniature": 45}[name])
        command.add_argument("--seed", type=int, default=1)
        command.add_argument("--device", default="cpu" if small else "auto", help="of the network")
        command.add_argument("--size", choices=network.SIZES, default="tiny" if small else "base")
        command.add_argument("--vocabulary", type=int, default=1024 if small else 4096)
        command.add_argument("--batch", type=int, default=4096 if small else 24576, help="tokens of a batch")
        command.add_argument("--rate", type=float, default=4e-3 if small else 1e-3)
        if name == "warm-up":
            continue
        command.add_argument("--tool", default="stitchcuda")
        command.add_argument("--judge", default="emulated" if small else "cuda", help="the device that judges: cuda or emulated")
        command.add_argument("--services", type=int, default=1 if small else 10)
        command.add_argument("--jobs", type=int, default=2)
        command.add_argument("--no-timing", action="store_true", default=small)
        command.add_argument("--small-first", action="store_true", default=small, help="the smallest tasks instead of any")
        command.add_argument("--held-out", type=int, default=2 if small else 32, help="tasks of the evaluation")
        command.add_argument("--train-tasks", type=int, default=2 if small else 24, help="tasks of GRPO")
        command.add_argument("--arms", nargs="+", choices=reinforce.REWARDS, default=["combined"] if small else list(reinforce.REWARDS))
        command.add_argument("--steps", type=int, default=1 if small else 1000)
        command.add_argument("--prompts", type=int, default=1 if small else 8)
        command.add_argument("--group", type=int, default=2 if small else 8)
        command.add_argument("--iterations", type=int, default=1 if small else 3)
        command.add_argument("--tokens", type=int, default=300 if small else 720)
        command.add_argument("--grpo-rate", type=float, default=8e-5)
        command.add_argument("--temperature", type=float, default=1.0)
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parsed(arguments)
    {"warm-up": run_warm_up, "learn": run_learn, "miniature": run_miniature}[options.command](options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
