"""The reward service as processes of ours, several where the machine has cores: each has its share of the tasks.

On a GPU the services share one clock (a lock of the machine), so opening tasks, compiling and checking run side by side
and nothing is timed beside anything else.
"""

import concurrent.futures
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "python", "stitchcuda"))
import rl  # noqa: E402


class Judges:
    def __init__(self, tool, tasks, state, device, count=1, jobs=2, more=()):
        self.processes, self.services, self.turns = [], [], {}
        for i in range(count):
            os.makedirs(os.path.join(state, str(i)), exist_ok=True)
            command = [tool, "serve", "--tasks", tasks, "--device", device, "--port", "0", "--state", os.path.join(state, str(i)),
                       "--jobs", str(jobs), "--json", *more]
            log = open(os.path.join(state, f"{i}.log"), "a", encoding="utf-8")
            self.processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True,
                                                   env={**os.environ, "STITCHCUDA_STORE": "none"}))
        for i, process in enumerate(self.processes):
            line = process.stdout.readline()
            if not line.startswith('{"url"'):
                self.stop()
                with open(os.path.join(state, f"{i}.log"), encoding="utf-8") as log:
                    raise SystemExit(f"the service did not start: {line}{log.read()[-2000:]}")
            self.services.append(rl.Service(json.loads(line)["url"], patience=60, timeout=60))
        self.pool = concurrent.futures.ThreadPoolExecutor(64)

    def of(self, task):
        """The same for a task each time; tasks in the order in which they are first asked for."""
        return self.services[self.turns.setdefault(task, len(self.turns)) % len(self.services)]

    def score_many(self, items):
        """An answer each, in order; None for what a service could not be asked in time."""
        def one(item, service):
            try:
                return service.score_many([item])[0]
            except rl.ServiceError as error:
                print(f"service: {error}", file=sys.stderr, flush=True)
                return None
        return list(self.pool.map(one, items, [self.of(item["task"]) for item in items]))

    def stop(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        for process in self.processes:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
