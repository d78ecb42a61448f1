"""The reward service: as a process of ours, and as whoever asks it (several processes may ask the same one).

Judging is the bottleneck of GRPO: a compiler takes seconds of a core, and processes that start CUDA wait for each other. So
the service judges side by side, untimed, behind whoever trains (`nice`), and answers that were judged before cost nothing.
"""

import concurrent.futures
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "python", "stitchcuda"))
import rl  # noqa: E402

AT_ONCE = 16  # items of a request


def spread(tasks):
    """An order in which answers to the same task stand apart: a service that works on few of them at a time opens it once or
    twice, not once for each."""
    seen, turns = {}, []
    for i, task in enumerate(tasks):
        seen[task] = seen.get(task, -1) + 1
        turns.append((seen[task], i))
    return [i for _, i in sorted(turns)]


class Judge:
    """Asks the service at `url`."""

    def __init__(self, url):
        self.url, self.service = url, rl.Service(url, patience=30, timeout=60)
        self.pool = concurrent.futures.ThreadPoolExecutor(16)

    def score_many(self, items):
        """An answer each, in order; None for what the service could not be asked."""
        def some(indices):
            try:
                return self.service.score_many([items[i] for i in indices])
            except rl.ServiceError as error:
                print(f"service: {error}", file=sys.stderr, flush=True)
                return [None] * len(indices)
        order = spread([item["task"] for item in items])
        parts = [order[i:i + AT_ONCE] for i in range(0, len(order), AT_ONCE)]
        out = [None] * len(items)
        for part, answers in zip(parts, self.pool.map(some, parts)):
            for i, answer in zip(part, answers):
                out[i] = answer
        return out


class Service(Judge):
    """The same, started here, answering in the block, ended with it."""

    def __init__(self, tool, tasks, state, device, jobs, more=()):
        os.makedirs(state, exist_ok=True)
        command = ["nice", "-n", "15", tool, "serve", "--tasks", tasks, "--device", device, "--port", "0", "--state", state, "--jobs", str(jobs),
                   "--json", *more]
        self.log = os.path.join(state, "service.log")
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True,
                                            env={**os.environ, "STITCHCUDA_STORE": "none"})

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        line = self.process.stdout.readline()
        if not line.startswith('{"url"'):
            self.stop()
            with open(self.log, encoding="utf-8") as log:
                raise SystemExit(f"the service did not start: {line}{log.read()[-2000:]}")
        super().__init__(json.loads(line)["url"])
        return self

    def __exit__(self, *_):
        self.stop()
