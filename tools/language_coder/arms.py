"""GRPO with several rewards or seeds at the same time, a process each ("arm"), from the same warm-up with as many rollouts.

While one arm's answers are judged the others write and learn, so the compilers never wait. The conductor lets no arm get
more than one rollout ahead and says which rollout is the last: arms are compared after the same number of steps.
`python -m language_coder.arms FOLDER` is an arm; FOLDER/arm.json says what it does. It starts while PyTorch still has to be
imported, and waits for the warm-up and for its questions.
"""

import contextlib
import json
import os
import subprocess
import sys
import time

from . import evaluation, judge, network, reinforce, warm_up, words
from .evaluation import say

QUESTIONS, CONDUCT, DONE = "questions.json", "conduct.json", "done.json"
AHEAD = 1  # rollouts
UNTOLD = 1  # begun before the conductor has said anything


def write(path, document):
    """Whole or not at all: others wait for it."""
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(document, file)
    os.replace(path + ".part", path)


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def await_file(path, parent, every=0.1):
    while (document := read(path)) is None:
        if os.getppid() != parent:
            raise SystemExit("the parent process has ended")
        time.sleep(every)
    return document


class Part:
    """An arm's side of the agreement."""

    def __init__(self, folder):
        self.folder, self.common = folder, os.path.dirname(folder)

    def goes_on(self, rollouts):
        """Told after each rollout; waits for arms that are behind."""
        write(os.path.join(self.folder, "progress.json"), rollouts)
        while True:
            told = read(os.path.join(self.common, CONDUCT)) or {"allowed": UNTOLD, "last": None}
            if told["last"] is not None and rollouts >= told["last"]:
                return False
            if rollouts < told["allowed"]:
                return True
            time.sleep(0.1)


class Arms:
    """The conductor's side."""

    def __init__(self, named, common, settings):
        """`named`: {name: what arm.json has besides the settings of all}"""
        self.common, self.processes, self.failed, self.asked = common, {}, [], time.monotonic()
        for name, own in named.items():
            folder = os.path.join(common, name)
            os.makedirs(folder, exist_ok=True)
            for left in (DONE, "progress.json", "evaluation.jsonl", "rollouts.jsonl"):  # by a run before
                with contextlib.suppress(FileNotFoundError):
                    os.remove(os.path.join(folder, left))
            write(os.path.join(folder, "arm.json"), {**settings, **own, "name": name, "parent": os.getpid()})
            log = open(os.path.join(folder, "log.txt"), "a", encoding="utf-8")
            # Beside their parent, in front of its services.
            self.processes[name] = subprocess.Popen([sys.executable, "-m", "language_coder.arms", folder], stdout=log, stderr=log,
                                                    cwd=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

    def ask(self, to_learn, asked, judges):
        self.asked = time.monotonic()
        write(os.path.join(self.common, QUESTIONS), {"to_learn": to_learn, "asked": asked, "judges": judges})

    def progress(self):
        """{name: rollouts} of arms that have not failed."""
        for name, process in self.processes.items():
            if process.poll() not in (None, 0) and name not in self.failed:
                self.failed.append(name)
                say(f"{name} failed, code {process.poll()}")
        return {name: read(os.path.join(self.common, name, "progress.json")) or 0 for name in self.processes if name not in self.failed}

    def conduct(self, until, most_rollouts, every=0.1):
        """Until every arm was evaluated; rollouts begin so that they end before `until`."""
        last, shown = None, None
        while any(self.busy(name) for name in self.processes):
            done = self.progress()
            if done:
                first, slowest = max(done.values()), min(done.values())
                now = time.monotonic()
                each = (now - self.asked) / max(1, slowest)  # all arms made so many in this time
                behind = (first + 2 - slowest) * each if slowest else 0.0
                if last is None and (first >= most_rollouts or now + behind > until):
                    last = min(most_rollouts, first + 1)
                    say(f"the last rollout is number {last}: {json.dumps(done)}, {each:.1f} s each")
                # At most one that no arm has reported yet: it may be the last.
                write(os.path.join(self.common, CONDUCT), {"allowed": min(slowest + AHEAD, first) + 1, "last": last})
                if done != shown:
                    say(f"rollouts: {json.dumps(done)}")
                    shown = done
            time.sleep(every)
        self.progress()

    def busy(self, name):
        return self.processes[name].poll() is None and not read(os.path.join(self.common, name, DONE))

    def stop(self, patience=0.0):
        """`patience`: seconds for those that still save their weights."""
        until = time.monotonic() + patience
        for process in self.processes.values():
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()


def main(folder):
    told = read(os.path.join(folder, "arm.json"))
    reinforce.imports()
    import torch
    torch.set_num_threads(1)
    device = torch.device(told["device"])
    await_file(os.path.join(told["warm_up"], warm_up.DONE), told["parent"])
    vocabulary, model = words.load(told["warm_up"]), network.load(told["warm_up"]).to(device)
    say("ready")
    common = os.path.dirname(folder)
    questions = await_file(os.path.join(common, QUESTIONS), told["parent"])
    judges = {name: judge.Judge(url) for name, url in questions["judges"].items()}
    model = reinforce.train(model, vocabulary, questions["to_learn"], judges["to_learn"], folder, Part(folder), **told["grpo"])
    evaluation.evaluate(told["stage"], model, vocabulary, questions["asked"], judges["asked"], folder, **told["evaluation"])
    write(os.path.join(folder, DONE), True)
    warm_up.save(model, vocabulary, os.path.join(folder, "model"))


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
