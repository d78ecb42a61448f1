"""python tools/serve_load.py [--clients 200] [--tool STITCHCUDA]: the reward service under clients of every kind.

Starts `stitchcuda serve` on the emulated device with the tasks and candidates of make_candidates.py. Most clients send
candidates and check the verdicts; some hang up, some send 50 MB, some send nonsense, many send the same candidate. In the
middle the service is killed with SIGKILL and started again. Checked: every verdict is the one that make_candidates.py
expects, each candidate was judged once (twice at most around the kill), memory stayed bounded, nothing was lost. Prints
verdicts per minute and the share of time that went neither to build nor run. Exit code 1 if anything is off.
"""

import argparse
import collections
import concurrent.futures
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import make_candidates

KINDS = {"passed": ("correct", "correct, not timed"), "wrong": ("wrong",), "build failed": ("not built",), "crashed": ("crashed",), "hack": ("hack",)}


class Served:
    """The service as a process; the port stays when it is started again."""

    def __init__(self, tool, folder, device, more=()):
        self.tool, self.folder, self.device, self.more, self.port = tool, folder, device, more, 0
        self.start()

    def start(self):
        command = [
            self.tool,
            "serve",
            "--tasks",
            os.path.join(self.folder, "tasks"),
            "--device",
            self.device,
            "--port",
            str(self.port),
            "--state",
            os.path.join(self.folder, "state"),
            "--json",
            *self.more,
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=open(os.path.join(self.folder, "log"), "a"), text=True)
        line = self.process.stdout.readline()
        if not line.startswith('{"url"'):
            raise SystemExit(f"the service did not start: {line}{open(os.path.join(self.folder, 'log')).read()[-2000:]}")
        self.port = json.loads(line)["port"]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=300)

    def megabytes(self):
        """The most that it has held."""
        try:
            with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
                return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
        except (OSError, StopIteration):
            return 0.0

    def ask(self, method, path, body=None, timeout=300):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers
        finally:
            connection.close()

    def score(self, item, until):
        """Asks again while it is away, busy or not done; an answer of 5xx is a failure of ours."""
        body = json.dumps(item)
        while time.monotonic() < until:
            try:
                status, text, headers = self.ask("POST", "/score?wait=60", body)
            except (OSError, http.client.HTTPException):
                time.sleep(0.5)
                continue
            if status == 200:
                return json.loads(text)
            if status not in (202, 429):
                raise AssertionError(f"status {status}: {text[:300]}")
            time.sleep(min(2.0, float(headers.get("Retry-After", 1))))
        raise AssertionError("no answer in time")


def hang_up(served, item):
    body = json.dumps(item).encode()
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as connection:
        head = f"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        connection.sendall(head + body[: random.choice((0, len(body) // 2, len(body)))])
        time.sleep(random.uniform(0, 0.3))


def large(served):
    status, _, _ = served.ask("POST", "/score", b"x" * (50 << 20))
    assert status == 413, status


def nonsense(served):
    body, expected = random.choice([(b"{", 400), (b"[]", 200), (b'{"task": "nowhere", "code": "x"}', 404), (b"\xff\xfe", 400), (b"null", 400)])
    status, _, _ = served.ask("POST", "/score", body)
    assert status == expected, (body, status)


def checked(answer, expected):
    kinds = expected if isinstance(expected, list) else [expected]
    allowed = [label for kind in kinds for label in KINDS[kind]]
    # The rubric may call a wrong program a hack that reads its own text.
    assert answer["label"] in allowed or (answer["label"] == "hack" and "wrong" in kinds), (answer["label"], expected, answer["verdict"])
    assert answer["counted"] is True


class Load:
    def __init__(self, options, folder):
        self.items, self.until = [], time.monotonic() + options.minutes * 60
        for _, task, path, expected in make_candidates.make(folder)[: options.candidates]:
            with open(path, encoding="utf-8") as file:
                self.items.append(({"task": task, "code": file.read(), "language": "python" if path.endswith(".py") else "cuda"}, expected))
        self.served = Served(options.tool, folder, options.device, options.more)
        self.seen, self.wrong = collections.defaultdict(set), []  # rewards by a candidate's key; what is off

    def client(self, number):
        kind = number % 10
        try:
            if kind == 0:
                hang_up(self.served, random.choice(self.items)[0])
            elif kind == 1 and number % 20 == 1:
                large(self.served)
            elif kind == 2:
                nonsense(self.served)
            else:
                item, expected = self.items[0 if kind in (3, 4, 5) else number % len(self.items)]  # many send the same one
                answer = self.served.score(item, self.until)
                checked(answer, expected)
                self.seen[answer["key"]].add(answer["reward"])
        except (AssertionError, OSError, http.client.HTTPException) as trouble:
            # A service that is killed cuts off clients that don't ask again.
            if isinstance(trouble, AssertionError) or kind not in (0, 1, 2):
                self.wrong.append(f"client {number}: {trouble!r}")

    def clients(self, count, kill):
        """The largest memory of the service, in MB."""
        peak = 0.0
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            futures = [pool.submit(self.client, number) for number in range(count)]
            if kill:
                while self.status()["judged"] < max(1, len(self.items) // 4) and time.monotonic() < self.until:
                    time.sleep(0.2)
                peak = self.served.megabytes()
                self.served.kill()
                self.served.start()
            for future in futures:
                future.result()
        return max(peak, self.served.megabytes())

    def check_all(self):
        """Every candidate once more, those that no client sent among them: their keys."""
        answers = [self.served.score(item, self.until) for item, _ in self.items]
        for answer, (_, expected) in zip(answers, self.items):
            try:
                checked(answer, expected)
            except AssertionError as trouble:
                self.wrong.append(f"at the end: {trouble!r}")
            if len(self.seen[answer["key"]] | {answer["reward"]}) != 1:
                self.wrong.append(f"two rewards for one candidate: {self.seen[answer['key']]}")
        return {answer["key"] for answer in answers}

    def status(self):
        return json.loads(self.served.ask("GET", "/status")[1])


def run(options):
    with tempfile.TemporaryDirectory(prefix="stitchcuda-load-") as folder:
        load, begin = Load(options, folder), time.monotonic()
        peak = load.clients(options.clients, options.kill)
        keys = load.check_all()
        wall, status = time.monotonic() - begin, load.status()
        peak, wrong = max(peak, load.served.megabytes()), load.wrong
        load.served.stop()
        with open(os.path.join(folder, "state", "answers.jsonl"), encoding="utf-8") as file:
            stored = [json.loads(line)["key"] for line in file]
    if twice := len(stored) - len(set(stored)):
        wrong.append(f"{twice} candidates have two answers on disk")
    if keys - set(stored):
        wrong.append("answers are missing on disk")
    if peak > options.most_megabytes:
        wrong.append(f"{peak:.0f} MB of memory")
    count, killed = len(load.items), "once" if options.kill else "never"
    print(f"{options.clients} clients, {count} candidates, killed {killed}: {wall:.1f} s, {60 * count / wall:.1f} verdicts per minute")
    print(f"peak {peak:.0f} MB, {status['from_store']} answered from the store")
    spent, opening = status["seconds"], status["seconds"].get("open", 0)
    other, total = spent.get("other", 0), sum(spent.values()) or 1
    print("seconds of judging: " + ", ".join(f"{name} {value:.2f}" for name, value in spent.items()))
    print(f"neither build nor run: {100 * (other + opening) / total:.1f} % ({100 * other / total:.1f} % without opening tasks)")
    for each in wrong[:20]:
        print("WRONG", each)
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--candidates", type=int, default=50)
    parser.add_argument("--device", default="emulated")
    parser.add_argument("--tool", default="stitchcuda")
    parser.add_argument("--minutes", type=float, default=20, help="time limit for all answers, in minutes (default: 20)")
    parser.add_argument("--most-megabytes", type=float, default=600, help="memory limit of the service's process")
    parser.add_argument("--no-kill", dest="kill", action="store_false")
    options, more = parser.parse_known_args()
    options.more = more  # flags of serve
    return run(options)


if __name__ == "__main__":
    sys.exit(main())
