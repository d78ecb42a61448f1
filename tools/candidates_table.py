"""Every candidate of src/verify/testdata before the Verifier, and whether it gets the verdict that its first line names.

    python3 tools/candidates_table.py build/release/stitchcuda --device cuda --jobs 14 --seconds 180 --done verdicts.jsonl

Needs no test executable: for machines without GoogleTest. Says every ten seconds what is done and what is running, at once who
differs, and at the end, also one that comes early (SIGINT, SIGTERM), the table and where the seconds went; exit code 1 if one differs.
--done FILE has a line for each verdict, with all of its seconds; a second run with the same file goes on where the first was ended.
PyTorch is imported once for all references and once for all Python candidates. Who could not be timed because the machine was busy is judged again at the end, alone.
"""

import argparse
import collections
import contextlib
import itertools
import json
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

HOME = pathlib.Path(__file__).resolve().parent.parent
TESTDATA = HOME / "src/verify/testdata"
# These take longest: started first, they don't delay the end.
LONGEST = ("endless_templates", "includes_endless_zeros", "allocates_everything")  # and those that never answer
SECONDS_TO_END = 12  # that those who are running have left when the time is over


def first_lines(path):
    return path.read_text(encoding="utf-8").splitlines()[:2]


def expected(path, cuda):
    """As candidates_test.cpp reads them."""
    line = re.split(r"\(\./dev cheats\)|\"\"\"|—", first_lines(path)[0][3:])[0]
    everywhere, on_cuda, gate = [], [], ""
    for part in line.split("|"):
        one = part.strip()
        its = on_cuda if one.endswith(" on cuda") else everywhere
        one = one.removesuffix(" on cuda")
        if ":" in one:
            gate = one[:one.index(":") + 2]
        elif one != "passed":
            one = gate + one
        its.append(one)
    # Nothing is timed on the emulated GPU but by tests.
    untimed = ["passed"] if not cuda and any(one.startswith("timing: ") for one in everywhere) else []
    return on_cuda if cuda and on_cuda else everywhere + untimed


def said(path, what):
    """"# WHAT: value" among a Python candidate's first lines."""
    for line in path.read_text(encoding="utf-8").splitlines()[1:4]:
        if line.startswith(f"# {what}: "):
            return line.removeprefix(f"# {what}: ")
    return None


def task_of(path):
    if path.suffix == ".py":
        name = said(path, "task")
        return TESTDATA / (f"tasks/{name}" if name else "row_center") / "task.py"
    line = first_lines(path)[1]
    if not line.startswith("// task: "):
        return TESTDATA / "row_center/graph"
    task = TESTDATA / "tasks" / line.removeprefix("// task: ")
    return task if task.suffix == ".py" else task / "graph"


def command_for(tool, path, device, log):
    """Limits as in candidates_test.cpp: they are reached quickly."""
    python = path.suffix == ".py"
    memory = (8 if device == "cuda" else 16) if python else 4 if device == "cuda" else 1
    ends = expected(path, device == "cuda")[0] != "build: build_failed"
    return [tool, "verify", str(path), "--task", str(task_of(path)), "--device", device, "--baselines", "none", "--json", "--log", log,
            "--numerics", (python and said(path, "class")) or "default", "--time-limit", "60" if python else "10",
            "--build-time-limit", "120" if ends else "12", "--memory-limit", str(memory)]


def outcome_of(stdout, stderr):
    """The verdict as a first line names it, the reason, and the document."""
    try:
        verdict = json.loads(stdout)
    except ValueError:
        return "no verdict", stderr[-200:].replace("\n", " "), {}
    if verdict.get("verdict") == "passed":
        return "passed", "", verdict
    if verdict.get("verdict") == "not judged" or "error" in verdict:
        error = verdict.get("error", verdict)
        return "not judged", f"{error.get('code')}: {error.get('message', error.get('reason'))}", verdict
    return f"{verdict.get('gate')}: {verdict.get('code')}", verdict.get("reason", ""), verdict


class Table:
    """Threads that take the next candidate each, and what has come of it so far."""

    def __init__(self, arguments, files, folder):
        self.arguments, self.files, self.folder = arguments, files, folder
        self.begin = time.monotonic()
        self.until = self.begin + arguments.seconds
        self.mutex, self.running, self.rows, self.over = threading.RLock(), {}, {}, False
        self.cuda = arguments.device == "cuda"
        self.names = {path.name for path in files}
        if arguments.done and arguments.done.exists():
            for line in arguments.done.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError):
                    row = json.loads(line)
                    if row["name"] in self.names and row["got"] != "not judged":
                        self.rows[row["name"]] = row

    def run(self):
        new = [path for path in self.files if path.name not in self.rows]
        if len(new) < len(self.files):
            print(f"{len(self.files) - len(new)} are judged already", flush=True)
        self.judge_side_by_side(new, self.arguments.jobs)
        again = [path for path in new if self.rows.get(path.name, {}).get("got") == "not judged"]
        self.judge_side_by_side(again, 2)

    def judge_side_by_side(self, files, jobs):
        waiting = queue.SimpleQueue()
        for path in files:
            waiting.put(path)
        threads = [threading.Thread(target=self.work, args=[waiting]) for _ in range(min(jobs, len(files)))]
        for thread in threads:
            thread.start()
        said_at = time.monotonic()
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.1)
            now = time.monotonic()
            if now > self.until + SECONDS_TO_END:
                self.stop()
            if now - said_at > 10:
                said_at = now
                self.tell(waiting.qsize())

    def stop(self, *_):
        """None is begun any more, and those that run are ended."""
        with self.mutex:
            self.over = True
            for process, _ in self.running.values():
                with contextlib.suppress(OSError):
                    process.terminate()

    def work(self, waiting):
        while time.monotonic() < self.until and not self.over:
            try:
                path = waiting.get_nowait()
            except queue.Empty:
                return
            self.judge(path)

    def judge(self, path):
        begin, log = time.monotonic(), os.path.join(self.folder, path.name + ".log")
        command = command_for(self.arguments.tool, path, self.arguments.device, log)
        with self.mutex:
            if self.over:
                return
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
            self.running[path.name] = process, begin
        got, reason, verdict = outcome_of(*process.communicate())
        seconds = time.monotonic() - begin
        with self.mutex:
            del self.running[path.name]
            if self.over and got == "no verdict":
                return
            wanted = expected(path, self.cuda)
            row = {"name": path.name, "got": got, "expected": wanted, "reason": reason[:400], "begin": round(begin - self.begin, 2),
                   "seconds": round(seconds, 2), "time": verdict.get("time", {}), "sandbox": verdict.get("sandbox", ""),
                   "gates": {gate["gate"]: [round(gate.get("seconds", 0), 3), round(gate.get("waited", 0), 3)]
                             for gate in verdict.get("gates", []) if gate.get("seconds")}}
            self.rows[path.name] = row
            if self.arguments.done:
                with self.arguments.done.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
            if got not in wanted:
                print(f"DIFFERS {path.name}: {got}, not {' or '.join(wanted)}: {reason[:300]}", flush=True)

    def tell(self, waiting):
        with self.mutex:
            running = sorted(((time.monotonic() - begin, name) for name, (_, begin) in self.running.items()), reverse=True)
            done, differ = len(self.rows), self.differ()
        doing = collections.Counter(self.last_said(name) for _, name in running)
        print(f"{time.monotonic() - self.begin:.0f} s: {done} done, {len(differ)} differ, {waiting} to go, {len(running)} at work: " +
              ", ".join(f"{count} {what}" for what, count in doing.most_common()) +
              "; longest " + ", ".join(f"{name} {seconds:.0f} s ({self.last_said(name)})" for seconds, name in running[:3]), flush=True)

    def last_said(self, name):
        """Which gate it is at, by its log."""
        with contextlib.suppress(OSError):
            text = pathlib.Path(self.folder, name + ".log").read_text(encoding="utf-8", errors="replace")
            told = re.findall(r"verifying: (.*)|(waiting for the GPU.*)", text)
            if told:
                return re.split(r": |,| \(", told[-1][0] or told[-1][1])[0]
        return "starting"

    def differ(self):
        return [row for row in self.rows.values() if row["got"] not in row["expected"]]

    def print_all(self):
        rows = sorted(self.rows.values(), key=lambda row: row["name"])
        print(", ".join(f"{row['name']}={row['got']}" for row in rows))
        total, kinds = collections.Counter(), collections.Counter()
        for row in rows:
            kind = "Python candidates" if row["name"].endswith(".py") else "CUDA candidates"
            kinds[kind] += row["seconds"]
            for part in ("phases", "waiting", "details"):
                for name, spent in row["time"].get(part, {}).items():
                    total[part, name] += spent["seconds"] if isinstance(spent, dict) else spent
        print(f"{time.monotonic() - self.begin:.0f} s; of all jobs together: " + ", ".join(f"{name} {s:.0f} s" for name, s in kinds.items()))
        for part in ("phases", "waiting", "details"):
            told = [(spent, name) for (of, name), spent in total.items() if of == part and spent >= 0.5]
            print(f"  {part}: " + ", ".join(f"{name} {spent:.0f} s" for spent, name in sorted(told, reverse=True)))
        slowest = sorted(rows, key=lambda row: -row["seconds"])[:12]
        print("  longest: " + ", ".join(f"{row['name']} {row['seconds']:.0f} s" for row in slowest))
        differ = self.differ()
        for row in differ:
            print(f"DIFFERS {row['name']}: {row['got']}, not {' or '.join(row['expected'])}: {row['reason'][:300]}")
        passed_in_error = [row for row in differ if row["got"] == "passed"]
        refused_in_error = [row for row in differ if row["expected"] == ["passed"] and row["got"] not in ("not judged", "no verdict")]
        print(f"{len(self.names)} candidates, {len(rows) - len(differ)} as expected, {len(differ)} differ ({len(passed_in_error)} accepted that "
              f"should not be, {len(refused_in_error)} refused that should pass), {len(self.names) - len(rows)} not reached", flush=True)
        return 1 if differ else 0


# All of this machine's environment that a candidate may see: what src/sandbox keeps of it.
KEPT = ("PATH", "LANG", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_MODULE_LOADING")


@contextlib.contextmanager
def lent_torch(python, tool):
    """PyTorch imported twice: for all who export tasks and answer for them, and for all Python candidates, whose processes must
    find nothing in memory that isn't theirs. Who can't borrow imports it."""
    walls = pathlib.Path(tool).resolve().parent / "libstitch-walls.so"
    package = {"PYTHONPATH": str(HOME / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    clean = {**{name: os.environ[name] for name in KEPT if name in os.environ}, **package}
    lenders = {"STITCHCUDA_TORCH_LENDER": ("lend", [], {**os.environ, **package}),
               "STITCHCUDA_CANDIDATE_LENDER": ("lend_candidates", [str(walls)], clean)}
    started = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            for variable, (module, arguments, environment) in lenders.items():
                if not os.environ.get(variable) and (module == "lend" or walls.exists()):
                    socket = os.path.join(folder, module)
                    started[variable] = socket, subprocess.Popen(
                        [python, "-m", "stitchcuda_torch." + module, socket, *arguments], env=environment, cwd="/",
                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            for variable, (socket, lender) in started.items():
                if lender.stdout.readline().strip() == "ready":
                    os.environ[variable] = socket
            yield
        finally:
            for _, lender in started.values():
                lender.kill()
                lender.communicate()


def in_order(files, urgent):
    """The longest first, then both kinds by turns, so that compilers and imports share the machine."""
    kinds = [sorted((path for path in files if path.suffix == suffix), key=lambda path: path.stem) for suffix in (".cu", ".py")]
    # Of the larger kind several to one of the other: both end at about the same time.
    share = max(1, round(len(kinds[0]) / max(1, len(kinds[1]))))
    cuda = [kinds[0][i:i + share] for i in range(0, len(kinds[0]), share)]
    mixed = [path for some, one in itertools.zip_longest(cuda, kinds[1]) for path in [*(some or []), one] if path is not None]
    # A minute for PyTorch's headers where a candidate compiles its kernel.
    takes_long = {path for path in files if path.stem in LONGEST or "hung" in first_lines(path)[0] or "cpp_extension" in path.read_text(encoding="utf-8")}
    return sorted(mixed, key=lambda path: (path.name not in urgent, path not in takes_long))


def main():
    parser = argparse.ArgumentParser(description="The candidates' verdicts as a table.")
    parser.add_argument("tool", help="the stitchcuda to run")
    parser.add_argument("--device", default="emulated", choices=("emulated", "cuda"))
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--python", default=os.environ.get("STITCHCUDA_PYTHON") or sys.executable, help="a Python with PyTorch")
    parser.add_argument("--seconds", type=float, default=600, help=f"none is begun after this; all end {SECONDS_TO_END} s later")
    parser.add_argument("--only", default="", help="names that contain this; NAME,NAME: these")
    parser.add_argument("--first", type=pathlib.Path, help="a file with names, one per line, to judge first")
    parser.add_argument("--done", type=pathlib.Path, help="JSONL, one verdict per line: those in it are not judged again, new ones are appended")
    arguments = parser.parse_args()
    os.environ["STITCHCUDA_PYTHON"] = arguments.python  # what is lent is lent to the same interpreter
    urgent = arguments.first.read_text(encoding="utf-8").split() if arguments.first else []
    wanted = arguments.only.split(",")
    files = [path for folder, suffix in (("candidates", "cu"), ("model_new_cheats", "py")) for path in (TESTDATA / folder).glob("*." + suffix)]
    files = [path for path in files if (path.stem in wanted or path.name in wanted if len(wanted) > 1 else arguments.only in path.name)]
    with tempfile.TemporaryDirectory() as folder:
        table = Table(arguments, in_order(files, urgent), folder)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, table.stop)
        with lent_torch(arguments.python, arguments.tool):
            table.run()
        return table.print_all()


if __name__ == "__main__":
    sys.exit(main())
