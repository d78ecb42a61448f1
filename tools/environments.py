"""python tools/environments.py TOOL FOLDER [openenv|verifiers|harbor …]: the environments of python/stitchcuda/environments
against the packages that they are for, each installed into a venv FOLDER/NAME, whose Python runs this file again.

The reward service of TOOL judges on the emulated device; what each package gets is compared with its own answers. Harbor
wants Python 3.12: its own reader of task folders is taken out of its wheel, and the verifier's script is run without a
container.
"""

import asyncio
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(ROOT, "python", "stitchcuda"))
import make_candidates  # noqa: E402
import rl  # noqa: E402
from many_machines import free_port  # noqa: E402
from serve_load import Served  # noqa: E402

TASK = "2_Scale"
CLIENTS = 60  # of OpenEnv
PACKAGES = {"openenv": ["openenv==0.10.0"], "verifiers": ["verifiers==0.4.0"], "harbor": ["toml", "pydantic"]}


def installed(folder, name):
    python = os.path.join(folder, name, "bin", "python")
    if not os.path.exists(os.path.join(folder, name, "done")):
        subprocess.run([sys.executable, "-m", "venv", os.path.join(folder, name)], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *PACKAGES[name]], check=True)
        if name == "harbor":
            subprocess.run(
                [python, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--python-version=3.12", "harbor==0.24.0", "-d", folder],
                check=True,
            )
            wheel = next(file for file in os.listdir(folder) if file.startswith("harbor-") and file.endswith(".whl"))
            zipfile.ZipFile(os.path.join(folder, wheel)).extractall(os.path.join(folder, name, "wheel"))
        open(os.path.join(folder, name, "done"), "w").close()
    return python


def rows():
    """A row of each skill, as `stitchcuda skills build` writes them."""
    before, feedback = make_candidates.wrong(TASK)[1], "correctness: wrong"

    def row(skill, label, before, feedback, prompt):
        return {
            "data_source": "stitchcuda/" + skill.replace(" ", "_"),
            "prompt": [{"role": "user", "content": prompt}],
            "ability": "cuda",
            "reward_model": {"style": "rule", "ground_truth": TASK},
            "reward_spec": {"method": "rule", "ground_truth": TASK},
            "env_class": "stitchcuda",
            "label": label,
            "answer": TASK,
            "completion": make_candidates.answers(TASK)["right"],
            "extra_info": {"task_id": TASK, "index": 0, "split": "train", "skill": skill, "before": before, "feedback": feedback},
        }

    change = json.dumps({"task": TASK, "before": before, "feedback": feedback})
    return [row("from scratch", TASK, "", "", "Write it."), row("from feedback", change, before, feedback, "Mend it: " + before)]


def main():
    tool, folder, *names = sys.argv[1:]
    answers = make_candidates.answers(TASK)
    os.makedirs(folder, exist_ok=True)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="stitchcuda-environments-") as scratch:
        make_candidates.make(scratch)
        served = Served(tool, scratch, "emulated", ["--quick"])
        try:
            os.environ.update(STITCHCUDA_SERVICE=f"http://127.0.0.1:{served.port}", STITCHCUDA_TOKEN="")
            expected = {"rows": os.path.join(scratch, "skills.jsonl"), "scratch": scratch, "answers": answers, "rewards": []}
            with open(expected["rows"], "w", encoding="utf-8") as out:
                for row in rows():
                    out.write(json.dumps(row) + "\n")
                    # Of both skills, by what the engines that only have a label send.
                    judged = {name: rl.service().score_many([rl._item(text, row["label"])])[0] for name, text in answers.items()}
                    assert {each["components"]["skill"] for name, each in judged.items()} == {row["extra_info"]["skill"]}, judged
                    expected["rewards"].append({name: each["reward"] for name, each in judged.items()})
            # A wrong program handed back is worth something from scratch, and nothing as a change.
            assert expected["rewards"][0]["wrong"] > 0 and expected["rewards"][1]["wrong"] == 0, expected["rewards"]
            print("the service: " + str(expected["rewards"]))
            for name in names or PACKAGES:
                python = installed(folder, name)
                paths = [os.path.join(ROOT, "python"), os.path.join(folder, name, "wheel")]
                ran = subprocess.run(
                    [python, __file__, name], input=json.dumps(expected), text=True, env=dict(os.environ, PYTHONPATH=os.pathsep.join(paths))
                )
                failed += ran.returncode != 0
        finally:
            served.stop()
    return 1 if failed else 0


def harbor(given):
    """Our task folders, read by Harbor's own classes; their verifier's script, run as its container would."""
    from harbor.models.task.task import Task

    folder = os.path.join(given["scratch"], "harbor")
    subprocess.run([sys.executable, "-m", "stitchcuda.environments.harbor_tasks", given["rows"], folder], check=True)
    again = subprocess.run([sys.executable, "-m", "stitchcuda.environments.harbor_tasks", given["rows"], folder], capture_output=True)
    assert again.returncode == 2 and b"is there already" in again.stderr, again
    names = sorted(os.listdir(folder), key=lambda name: name.rsplit("-", 1)[1])
    for name, rewards in zip(names, given["rewards"], strict=True):
        place = os.path.join(folder, name)
        assert Task.is_valid_dir(place), place
        task = Task(place)
        assert task.config.verifier.environment_mode.value == "separate" and "/app/answer.md" in task.instruction
        for kind, reward in rewards.items():
            answer, out = os.path.join(given["scratch"], "answer.md"), os.path.join(given["scratch"], "logs", "reward.json")
            with open(answer, "w", encoding="utf-8") as file:
                file.write(given["answers"][kind])
            judge, row = (os.path.join(place, "tests", file) for file in ("judge.py", "row.json"))
            subprocess.run([sys.executable, judge, row, answer, out], check=True, stdout=subprocess.DEVNULL)
            with open(out, encoding="utf-8") as file:
                assert json.load(file)["reward"] == reward, (name, kind)
    print(f"Harbor: {len(names)} task folders read; their verifier gives the service's rewards")


def verifiers(given):
    """Our taskset, loaded and scored by verifiers."""
    import verifiers.v1 as vf
    from verifiers.v1.configs.agent import AgentConfig
    from verifiers.v1.trace import AgentInfo

    def scored(task, said):
        """A trace of verifiers' own, in which the agent said this."""
        trace = vf.Trace(task=vf.TraceTask(type=type(task).__name__, data=task.data), agent=AgentInfo(config=AgentConfig()), root_reply=said)
        asyncio.run(task.score(trace))
        return trace

    config = vf.taskset_config_type("stitchcuda_taskset")(id="stitchcuda_taskset", rows=given["rows"])
    tasks = list(vf.load_taskset(config))
    assert [task.data.skill for task in tasks] == ["from scratch", "from feedback"], tasks
    assert tasks[1].data.prompt.startswith("Mend it"), tasks[1].data
    assert len({task.key for task in tasks}) == 2
    for task, rewards in zip(tasks, given["rewards"], strict=True):
        for name, reward in rewards.items():
            trace = scored(task, given["answers"][name])
            assert trace.rewards["judged"].value == reward, (name, trace.rewards, reward)
            assert trace.metrics["correct"] == float(name in ("right", "slow")), trace.metrics
    print("verifiers: both skills loaded and scored")


def wait_for(url, server):
    while server.poll() is None:
        try:
            return urllib.request.urlopen(url + "/health", timeout=5)
        except OSError:
            time.sleep(0.2)
    raise SystemExit("the server did not start")


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=30))


def episode(url, said, **how):
    from openenv.core.generic_client import GenericEnvClient

    with GenericEnvClient(base_url=url, message_timeout_s=300).sync() as env:
        env.reset(**how)
        return [env.step({"code": text}) for text in said]


def visit(url, answer, stays):
    """A client that leaves in the middle of an episode, or goes on to its end."""
    from openenv.core.generic_client import GenericEnvClient

    env = GenericEnvClient(base_url=url, message_timeout_s=300).sync()
    env.connect()
    env.reset(index=0)
    reward = env.step({"code": answer}).reward if stays else None
    if stays:
        env.close()
    return reward


def openenv(given):
    """OpenEnv's own validation and client against our server: single turn, several turns, tasks, clients that vanish."""
    port, answers = free_port(), given["answers"]
    url = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "stitchcuda.environments.openenv_server",
            given["rows"],
            "--port",
            str(port),
            "--sessions",
            str(2 * CLIENTS),
            "--idle",
            "20",
        ]
    )
    try:
        wait_for(url, server)
        report = subprocess.run(
            [os.path.join(os.path.dirname(sys.executable), "openenv"), "validate", "--url", url, "--json"], capture_output=True, text=True
        )
        assert report.returncode == 0, report.stdout + report.stderr
        print(f"openenv validate: {json.loads(report.stdout)['summary']}")
        for index, rewards in enumerate(given["rewards"]):
            for name, reward in rewards.items():
                (result,) = episode(url, [answers[name]], index=index)
                assert result.reward == reward and result.done, (index, name, result, reward)
            turns = episode(url, [answers["wrong"], answers["broken"], answers["right"]], index=index, tries=3)
            assert abs(sum(each.reward for each in turns) - rewards["right"]) < 1e-9, turns
            assert [each.done for each in turns] == [False, False, True], turns
            assert turns[0].observation["label"] == "wrong" and "correctness" in turns[0].observation["prompt"], turns[0]
        assert post(url + "/stitchcuda/num_tasks", {"split": "train"}) == {"num_tasks": 2}
        assert post(url + "/stitchcuda/task", {"split": "train", "index": 1})["task"]["skill"] == "from feedback"
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            got = list(pool.map(lambda i: visit(url, answers["right"], i % 2 == 0), range(CLIENTS)))
        assert set(got[::2]) == {given["rewards"][0]["right"]}, got
        (after,) = episode(url, [answers["right"]], index=0)
        assert after.reward == given["rewards"][0]["right"]
        print(f"OpenEnv: both skills, one and several turns, the task API; {CLIENTS} clients of which half vanished")
    finally:
        server.terminate()
        server.wait(timeout=60)


if __name__ == "__main__":
    inside = {"harbor": harbor, "openenv": openenv, "verifiers": verifiers}.get(sys.argv[1]) if len(sys.argv) == 2 else None
    sys.exit(inside(json.load(sys.stdin)) if inside else main())
