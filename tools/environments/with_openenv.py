"""OpenEnv's own validation and client against our server: single turn, several turns, tasks, clients that vanish."""

import concurrent.futures
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request

from openenv.core.generic_client import GenericEnvClient

CLIENTS = 60


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


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
    with GenericEnvClient(base_url=url, message_timeout_s=300).sync() as env:
        env.reset(**how)
        return [env.step({"code": text}) for text in said]


def visit(url, answer, stays):
    """A client that leaves in the middle of an episode, or goes on to its end."""
    env = GenericEnvClient(base_url=url, message_timeout_s=300).sync()
    env.connect()
    env.reset(index=0)
    reward = env.step({"code": answer}).reward if stays else None
    if stays:
        env.close()
    return reward


def main():
    given = json.load(sys.stdin)
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
    main()
