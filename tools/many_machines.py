"""python tools/many_machines.py ray|slurm [--tool STITCHCUDA] [--tasks 40]: bench on a real cluster of two nodes on this machine.

ray: `ray` of this Python (pip install "ray[default]"). slurm: Debian's munge, slurmctld and slurmd, as root, with a
configuration of its own in a temporary folder. 40 small tasks are optimised by two workers on the emulated device; one
worker is killed with SIGKILL in the middle. The records have to equal those of one machine without a cluster.
"""

import argparse
import collections
import contextlib
import getpass
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from make_candidates import TASK

FORWARDS = """torch.relu(x) * {n}.5
torch.sigmoid(x + {n})
x * x - {n}
(x - x.mean(1, keepdim=True)) * {n}.25
torch.softmax(x * {n}, 1)
torch.tanh(x) + {n}
x.abs().sum(1) + {n}
torch.nn.functional.gelu(x) * {n}""".splitlines()
# What a machine's speed and name don't change.
COMPARED = ("task", "passed", "numerics", "device", "steps", "predicted_seconds", "seconds_a_call", "floor_seconds")


def make_tasks(folder, count):
    os.makedirs(folder)
    for i in range(count):
        forward = FORWARDS[i % len(FORWARDS)].format(n=i + 1)
        with open(os.path.join(folder, f"{i + 1}_Task.py"), "w", encoding="utf-8") as file:
            file.write(TASK.format(forward=forward, rows=8 + i, columns=32 + 8 * (i % 5)))


def bench(tool, tasks, out, *more):
    flags = ["--device", "emulated", "--budget", "1", "--quick", "--no-timing", "--no-tune", "--store", "none"]
    return [tool, "bench", tasks, "-o", out, *flags, *more]


def records(out):
    with open(os.path.join(out, "tasks.jsonl"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return {line["task"]: line for line in lines}, len(lines)


def sources(out, name):
    """The program's CUDA files and what is in them; a program that isn't there is like no other."""
    found = {}
    for folder, _, names in os.walk(os.path.join(out, "programs", name)):
        for each in names:
            if each.endswith((".cu", ".h")):
                with open(os.path.join(folder, each), encoding="utf-8") as file:
                    found[each] = file.read()
    return found or out


@contextlib.contextmanager
def ray_cluster(folder):
    ray = os.path.join(os.path.dirname(sys.executable), "ray")
    env = {**os.environ, "RAY_TMPDIR": folder, "RAY_USAGE_STATS_ENABLED": "0"}
    port, dashboard = free_port(), free_port()
    start = [ray, "start", "--num-cpus=1", "--disable-usage-stats"]
    try:
        head = ["--head", f"--port={port}", f"--dashboard-port={dashboard}", "--temp-dir", folder]
        for node in (head, [f"--address=127.0.0.1:{port}"]):
            subprocess.run([*start, *node], check=True, env=env, stdout=subprocess.DEVNULL)
        yield ["--on", "ray", "--ray", f"http://127.0.0.1:{dashboard}", "--at", "127.0.0.1"]
    finally:
        # `ray stop` would end other clusters of this machine, too: ours have this folder in their command lines.
        for sign in (signal.SIGTERM, signal.SIGKILL):
            for number in processes(lambda words: any(folder.encode() in word for word in words)):
                if number != os.getpid():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(number, sign)
            time.sleep(3)


def processes(is_meant):
    """Numbers of the processes whose command lines are meant."""
    out = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{number}/cmdline", "rb") as file:
                if is_meant(file.read().split(b"\0")):
                    out.append(int(number))
    return out


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


SLURM = """ClusterName=stitchcuda
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
SlurmctldPort={controller}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={first} CPUs=1
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={second} CPUs=1
PartitionName=all Nodes=n1,n2 Default=YES State=UP
"""


@contextlib.contextmanager
def slurm_cluster(folder):
    for program in ("munged", "slurmctld", "slurmd", "sbatch"):
        if not shutil.which(program):
            raise SystemExit(f"{program} is not installed (Debian: munge slurmctld slurmd slurm-client)")
    os.chmod(folder, 0o755)
    os.makedirs(os.path.join(folder, "state"))
    for node in ("n1", "n2"):
        os.makedirs(os.path.join(folder, "spool-" + node))
    key, conf = os.path.join(folder, "munge.key"), os.path.join(folder, "slurm.conf")
    with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(os.urandom(1024))
    ports = {name: free_port() for name in ("controller", "first", "second")}
    with open(conf, "w", encoding="utf-8") as file:
        file.write(SLURM.format(host=socket.gethostname(), user=getpass.getuser(), folder=folder, **ports))
    os.environ["SLURM_CONF"] = conf
    log = open(os.path.join(folder, "daemons.log"), "w", encoding="utf-8")
    munge = " ".join(f"--{name} {folder}/munge.{name.partition('-')[0]}" for name in ("socket", "log-file", "pid-file", "seed-file"))
    nodes = [f"slurmd -D -N {node} -f {conf}" for node in ("n1", "n2")]
    daemons = [words.split() for words in (f"munged --foreground --force --key-file {key} {munge}", f"slurmctld -D -f {conf}", *nodes)]
    running = []
    try:
        for daemon in daemons:
            running.append(subprocess.Popen(daemon, stdout=log, stderr=log))
            time.sleep(2)
        for _ in range(30):
            said = subprocess.run(["sinfo", "-h", "-o", "%T %D"], capture_output=True, text=True).stdout
            if "idle 2" in said:
                break
            time.sleep(1)
        else:
            raise SystemExit(f"Slurm's nodes are not idle: {said}{open(log.name, encoding='utf-8').read()[-2000:]}")
        yield ["--on", "slurm", "--at", "127.0.0.1"]
    finally:
        for daemon in reversed(running):
            daemon.terminate()
        for daemon in running:
            daemon.wait(timeout=30)


def workers_of(tool):
    """Process numbers of our workers."""
    return processes(lambda words: words[:2] == [os.path.realpath(tool).encode(), b"worker"])


def run(options):
    tool = os.path.realpath(options.tool)
    with tempfile.TemporaryDirectory(prefix="sc-") as folder:
        tasks, alone, together = (os.path.join(folder, name) for name in ("tasks", "alone", "together"))
        make_tasks(tasks, options.tasks)
        cluster = ray_cluster if options.engine == "ray" else slurm_cluster
        begin = time.monotonic()
        with cluster(os.path.join(folder, "c") if options.engine == "ray" else tempfile.mkdtemp(dir=folder)) as flags:
            print(f"{options.engine}: up after {time.monotonic() - begin:.0f} s", flush=True)
            begin = time.monotonic()
            with_one_killed(bench(tool, tasks, together, *flags, "--workers", "2", *options.more), together, tool, options.tasks // 4)
            print(f"done after {time.monotonic() - begin:.0f} s")
        subprocess.run(bench(tool, tasks, alone, "--jobs", "2"), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        return compare(together, alone, options.tasks)


def with_one_killed(command, out, tool, after):
    """Runs bench, and kills one of its workers after so many tasks."""
    begin, killed, done = time.monotonic(), None, os.path.join(out, "tasks.jsonl")
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        time.sleep(1)
        if killed is None and os.path.exists(done) and sum(1 for _ in open(done, encoding="utf-8")) >= after:
            killed = workers_of(tool)[0]
            os.kill(killed, signal.SIGKILL)
            print(f"killed worker {killed} after {time.monotonic() - begin:.0f} s", flush=True)
    if process.returncode not in (0, 1) or killed is None:
        for log in pathlib.Path(out, "workers").glob("*"):
            print(log.read_text(encoding="utf-8")[-1500:])
        raise SystemExit(f"bench ended with {process.returncode}")


def compare(together, alone, count):
    ours, lines = records(together)
    theirs, _ = records(alone)

    def facts(record):
        return {key: record.get(key) for key in COMPARED}

    wrong = [name for name in theirs if facts(ours.get(name, {})) != facts(theirs[name])]
    programs = [name for name in theirs if sources(together, name) != sources(alone, name)]
    machines = dict(collections.Counter(record.get("machine") for record in ours.values()))
    print(f"{len(ours)} records in {lines} lines; by machine: {machines}; passed {sum(r['passed'] for r in ours.values())}")
    print(f"differ from one machine's: {wrong or 'none'}; programs that differ: {programs or 'none'}")
    return 0 if len(ours) == lines == count and not wrong and not programs else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=("ray", "slurm"))
    parser.add_argument("--tool", default="stitchcuda")
    parser.add_argument("--tasks", type=int, default=40)
    options, options.more = parser.parse_known_args()
    return run(options)


if __name__ == "__main__":
    sys.exit(main())
