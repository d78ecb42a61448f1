"""python -m language_coder.road warm-up | learn | time | miniature: the language Coder from a corpus to a table.

  warm-up DATA OUT --seconds 80             supervised, no service needed: OUT/warm_up
  learn DATA OUT --tool STITCHCUDA --seconds 320
                                            evaluation, GRPO with the rubric and without, evaluation: OUT/table.md;
                                            may begin beside the warm-up: tasks are opened meanwhile
  time DATA OUT --tool STITCHCUDA           right answers of a run that is over against eager PyTorch: the table with their speedups
  miniature OUT --tool STITCHCUDA           all of it on the CPU with the emulated device, in a few minutes

DATA is what language_coder.corpus wrote. Every phase writes as it goes; what time does not allow is left out and said.
"""

import argparse
import concurrent.futures
import contextlib
import os
import sys
import threading
import time

from . import arms, corpus, evaluation, examine, judge, mutations, network, questions, reinforce, warm_up, words
from .evaluation import say

CONTEXT = 2048
BEFORE = "programs to improve"


def device_of(name):
    import torch
    return torch.device(name if name != "auto" else "cuda" if torch.cuda.is_available() else "cpu")


def tasks_of(options):
    """(held out, to learn from): those that GRPO learns from are not the warm-up's, which knows their answers by heart."""
    entries = [entry for entry in corpus.read(os.path.join(options.data, "tasks.jsonl.gz")) if questions.elements(entry) <= options.most_elements]
    split = "train" if options.command == "miniature" else "validation"
    signed = [each for each in map(questions.both_signs, entries) if each]
    return (questions.chosen(signed, "test", options.held_out, 1, options.small_first),
            questions.chosen(signed, split, options.train_tasks, 1, options.small_first))


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
    cheats = [row for row in rows if row["kind"] == mutations.SHORTCUT]
    honest = [row for row in rows if row["skill"] == "from scratch" and row["kind"] != mutations.SHORTCUT]
    lazy = [{**row, "kind": mutations.LAZY, "answer": made} for row in honest if (made := mutations.lazy(row["answer"]))]
    rows += honest + cheats * (options.shortcuts - 1) + lazy * options.lazy
    if options.command == "miniature":
        # Threads that wait for each other on busy cores: 25 steps took 31 s with two, 5 with one.
        import torch
        torch.set_num_threads(1)
    model = network.fresh(options.size, len(vocabulary), CONTEXT, options.seed).to(device_of(options.device))
    say(f"{network.parameters(model) / 1e6:.1f} M parameters, {len(vocabulary)} tokens, {len(rows)} rows")
    out = os.path.join(options.out, "warm_up")
    steps = warm_up.train(model, vocabulary, rows, out, options.seconds, CONTEXT, options.batch, rate=options.rate, seed=options.seed,
                           good_enough=options.good_enough)
    say(f"{steps} steps of warm-up")
    return model, vocabulary


def arms_of(options):
    """{name: what is its own}"""
    out = {}
    for seed in range(options.seed, options.seed + options.seeds):
        for kind in options.arms:
            name = kind if options.seeds == 1 else f"{kind}-{seed}"
            stage = f"GRPO, {kind}" if options.seeds == 1 else f"GRPO, {kind}, seed {seed}"
            grpo = {"kind": kind, "seed": seed, "most_rollouts": options.rollouts, "prompts_a_rollout": options.prompts, "group": options.group,
                    "most_tokens": options.tokens, "rate": options.grpo_rate, "iterations": options.iterations, "beta": options.beta,
                    "temperature": options.grpo_temperature}
            out[name] = {"stage": stage, "grpo": grpo}
    return out


class Run:
    """What there is so far, and how all of it ends: the last process (or the clock) writes the table."""

    def __init__(self, options):
        self.options, self.begin = options, time.monotonic()
        self.stages, self.arms, self.services = [], None, []

    def gone(self):
        return time.monotonic() - self.begin

    def collect(self):
        """Stages of arms are in files of their own."""
        known = {stage for stage, _ in self.stages}
        lines = evaluation.read_lines(os.path.join(self.options.out, "before.jsonl"))
        if lines and BEFORE not in known:
            self.stages.append((BEFORE, lines))
        lines = evaluation.read_lines(os.path.join(self.options.out, "evaluation.jsonl"))
        if lines and "warm-up" not in known:
            self.stages.append(("warm-up", lines))
        for name, own in arms_of(self.options).items():
            lines = evaluation.read_lines(os.path.join(self.options.out, name, "evaluation.jsonl"))
            if lines and own["stage"] not in known:
                self.stages.append((own["stage"], lines))

    def write_table(self):
        named = [(stage, [{**line, "skill": "from feedback"} if line["skill"] == "before" else line for line in lines])
                 for stage, lines in self.stages]
        if self.options.seeds > 1:
            for kind in self.options.arms:
                together = [line for stage, lines in self.stages if stage.startswith(f"GRPO, {kind},") for line in lines]
                named += [(f"GRPO, {kind}, {self.options.seeds} seeds", together)] if together else []
        text = examine.table(named)
        rollouts = [line for name in arms_of(self.options) for line in
                    evaluation.read_lines(os.path.join(self.options.out, name, "rollouts.jsonl"))]
        if rollouts:
            text += "\n\n" + examine.curve(rollouts)
        with open(os.path.join(self.options.out, "table.md"), "w", encoding="utf-8") as file:
            file.write(text + "\n")
        return text

    def end_by(self, seconds):
        """The clock has the last word: what there is, is written."""
        def over():
            say(f"{self.gone():.0f} s are over")
            self.collect()
            print(self.write_table(), flush=True)
            if self.arms:
                self.arms.stop()
            for service in self.services:
                service.process.kill()
            sys.stdout.flush()
            os._exit(0 if any(stage.startswith("GRPO") for stage, _ in self.stages) else 3)
        timer = threading.Timer(max(1.0, seconds - self.gone()), over)
        timer.daemon = True
        timer.start()
        return timer


def run_learn(options):
    os.makedirs(options.out, exist_ok=True)
    run = Run(options)
    try:
        return learn(run, options)
    finally:
        if run.arms:
            run.arms.stop(patience=5.0 if sys.exc_info()[0] is None else 0.0)


def learn(run, options):
    import torch
    torch.set_num_threads(2)
    clock = run.end_by(options.seconds - 6)
    held_out, trained = tasks_of(options)
    folder, device = os.path.join(options.out, "tasks"), device_of(options.device)
    questions.write_tasks(held_out + trained, folder)
    place = os.path.join(options.out, "warm_up")
    how = {"most_tokens": options.tokens, "temperature": options.temperature, "seed": options.seed, "samples": options.samples}
    for name in (arms.QUESTIONS, arms.CONDUCT, "before.jsonl", "evaluation.jsonl", "timed.jsonl"):  # of a run before
        with contextlib.suppress(FileNotFoundError):
            os.remove(os.path.join(options.out, name))
    run.arms = arms.Arms(arms_of(options), options.out, {"warm_up": place, "device": str(device), "evaluation": how})
    # Nothing is timed here: a time takes the GPU alone, for seconds. Rewards and evaluations are by a quick look, in processes that
    # start CUDA once for all answers; answers that are timed afterwards pass every gate, alone.
    untimed = ["--no-timing", "--time-limit", "6"]
    quick = judge.Service(options.tool, folder, os.path.join(options.out, "state"), options.judge, options.jobs,
                          [*untimed, "--quick", *([] if options.own_processes else ["--share-processes"])], options.nice)
    full = judge.Service(options.tool, folder, os.path.join(options.out, "state_full"), options.judge, max(1, options.jobs // 3),
                         [*untimed, *([] if options.judge == "cuda" else ["--quick"])], options.nice)
    run.services = [quick, full]
    with quick, full, concurrent.futures.ThreadPoolExecutor() as pool:
        say(f"services after {run.gone():.1f} s")
        # What a quick look leaves out (what limits a right program) is told by the other.
        learned = pool.submit(questions.from_feedback, trained, quick, options.seed, full)
        repaired = pool.submit(questions.from_feedback, held_out, quick, options.seed, full)
        to_learn = [questions.from_scratch(entry) for entry in trained] + learned.result()[0]
        repairs, lines = repaired.result()
        asked = [questions.from_scratch(entry) for entry in held_out] + repairs
        say(f"{len(asked)} questions, {len(to_learn)} to learn from, after {run.gone():.1f} s")
        run.stages.append((BEFORE, lines))
        evaluation.write_lines(os.path.join(options.out, "before.jsonl"), lines)
        if not run.arms.progress():  # minutes before their first rollout is due
            raise SystemExit("every arm has failed; their log.txt say why")
        arms.await_file(os.path.join(place, warm_up.DONE), os.getppid())
        vocabulary, model = words.load(place), network.load(place).to(device)
        say(f"the warm-up is over after {run.gone():.1f} s")
        # Before GRPO, not beside it: rollouts would take the judges from it.
        begun = time.monotonic()
        run.stages.append(("warm-up", evaluation.evaluate("warm-up", model, vocabulary, asked, quick, options.out, **how)))
        run.arms.ask(to_learn, asked, {"to_learn": quick.url, "asked": quick.url})
        run.write_table()
        # All arms at once; many answers are the same as before or as another arm's.
        evaluating = 5 + 1.5 * (time.monotonic() - begun)
        until = options.seconds - options.timing_seconds - evaluating - 10
        say(f"{until - run.gone():.0f} s for GRPO, {evaluating:.0f} s for its evaluation")
        run.arms.conduct(run.begin + until, options.rollouts)
        run.collect()
        run.write_table()
    if options.timing_seconds:
        with evaluation.clock(options, folder) as service:
            run.services = [service]
            evaluation.time_right_ones(run.stages[1:], service, options.out, options.jobs)
    clock.cancel()
    print(run.write_table(), flush=True)
    say(f"{run.gone():.0f} s in all")
    if run.arms.failed:
        raise SystemExit(f"GRPO failed: {', '.join(run.arms.failed)}; their log.txt say why")
    return run.stages


def run_time(options):
    run = Run(options)
    run.collect()
    entries = corpus.read(os.path.join(options.data, "tasks.jsonl.gz"))
    asked = {line["task"] for _, lines in run.stages for line in lines}
    folder = os.path.join(options.out, "tasks")
    questions.write_tasks([entry for entry in map(questions.both_signs, entries) if entry and entry["task"] in asked], folder)
    stages = [each for each in run.stages if each[0] != BEFORE]
    clock = run.end_by(options.seconds)
    with evaluation.clock(options, folder) as service:
        run.services = [service]
        evaluation.time_right_ones(stages, service, options.out, options.jobs)
    clock.cancel()
    print(run.write_table(), flush=True)


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
    for name in ("warm-up", "learn", "time", "miniature"):
        small = name == "miniature"
        command = commands.add_parser(name)
        if not small:
            command.add_argument("data")
        command.add_argument("out")
        command.add_argument("--seconds", type=float, default={"warm-up": 80, "learn": 320, "time": 60, "miniature": 240}[name])
        command.add_argument("--seed", type=int, default=1)
        command.add_argument("--device", default="cpu" if small else "auto", help="of the network")
        command.add_argument("--size", choices=network.SIZES, default="tiny" if small else "base")
        command.add_argument("--vocabulary", type=int, default=1024 if small else 4096)
        command.add_argument("--batch", type=int, default=2048 if small else 49152, help="tokens of a batch")
        command.add_argument("--rate", type=float, default=4e-3 if small else 1.5e-3)
        command.add_argument("--shortcuts", type=int, default=1, help="how often an epoch has each answer that cheats")
        command.add_argument("--lazy", type=int, default=0, help="how often an epoch has each answer of 32 threads")
        command.add_argument("--good-enough", type=float, default=0.03 if small else 0.0, help="end at this loss of an answer's token: a network that is "
                             "too sure of itself leaves GRPO nothing to choose from")
        if name == "warm-up":
            continue
        command.add_argument("--tool", default="stitchcuda")
        command.add_argument("--judge", default="emulated" if small else "cuda", help="the device that judges: cuda or emulated")
        command.add_argument("--jobs", type=int, default=2 if small else 16, help="answers judged at once")
        command.add_argument("--nice", type=int, default=15, help="niceness of the judging processes (default: 15)")
        command.add_argument("--own-processes", action="store_true", help="one process per answer, each initialising CUDA")
        command.add_argument("--timing-seconds", type=float, default=0 if small else 30, help="time reserved for timing correct answers on a GPU")
        command.add_argument("--small-first", action="store_true", default=small, help="the smallest tasks instead of any")
        command.add_argument("--held-out", type=int, default=1 if small else 12, help="tasks of the evaluation")
        command.add_argument("--most-elements", type=int, default=1 << 22, help="of a task's inputs and output: larger ones stay with PyTorch, a "
                             "process for each judge")
        command.add_argument("--samples", type=int, default=1 if small else 2, help="answers to a question of the evaluation")
        command.add_argument("--train-tasks", type=int, default=2 if small else 12, help="tasks of GRPO")
        command.add_argument("--arms", nargs="+", choices=reinforce.REWARDS, default=["combined"] if small else list(reinforce.REWARDS))
        command.add_argument("--seeds", type=int, default=1, help="runs of GRPO with each reward")
        command.add_argument("--rollouts", type=int, default=2 if small else 1000, help="at most, of each run")
        command.add_argument("--prompts", type=int, default=1 if small else 6, help="of a rollout")
        command.add_argument("--group", type=int, default=4 if small else 8, help="answers to a prompt")
        command.add_argument("--iterations", type=int, default=1 if small else 3, help="steps on each rollout")
        command.add_argument("--tokens", type=int, default=300 if small else 720)
        command.add_argument("--grpo-rate", type=float, default=1e-4)
        command.add_argument("--beta", type=float, default=0.02, help="KL to the warm-up")
        command.add_argument("--grpo-temperature", type=float, default=1.0)
        command.add_argument("--temperature", type=float, default=0.8, help="of the evaluation")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parsed(arguments)
    options.out = os.path.abspath(options.out)  # arms and services run in folders of their own
    {"warm-up": run_warm_up, "learn": run_learn, "time": run_time, "miniature": run_miniature}[options.command](options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
