"""The reward service, as a process and as its client (several processes may use the same one).

Judging is the bottleneck of GRPO: a compiler takes seconds of a core, and processes that start CUDA wait for each other. So
the service judges side by side, untimed, at a lower priority than training (`nice`): a task is opened once for all answers to it, and
answers that were judged before cost nothing.
"""

import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "python", "stitchcuda"))
import rl  # noqa: E402

AT_ONCE = 4  # items of a request: what is judged is known before the rest is


class Judge:
    """Asks the service at `url`."""

    def __init__(self, url):
        self.url, self.service = url, rl.Service(url, patience=60, timeout=120)
        self.pool = concurrent.futures.ThreadPoolExecutor(64)

    def score_many(self, items, on_answer=None):
        """An answer each, in order; None for what the service could not be asked. `on_answer(i, answer)` hears of each as it comes,
        from one thread at a time."""
        said = threading.Lock()

        def some(first):
            part = items[first:first + AT_ONCE]
            try:
                answers = self.service.score_many(part)
            except rl.ServiceError as error:
                print(f"service: {error}", file=sys.stderr, flush=True)
                answers = [None] * len(part)
            with said:
                for i, answer in enumerate(answers if on_answer else ()):
                    on_answer(first + i, answer)
            return answers
        return [answer for part in self.pool.map(some, range(0, len(items), AT_ONCE)) for answer in part]


class Service(Judge):
    """The same, started here, answering in the block, ended with it."""

    def __init__(self, tool, tasks, state, device, jobs, more=(), nice=15):
        os.makedirs(state, exist_ok=True)
        command = ["nice", "-n", str(nice), tool, "serve", "--tasks", tasks, "--device", device, "--port", "0", "--state", state, "--jobs", str(jobs),
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
