"""Our task folders, read by Harbor's own classes; their verifier's script, run as its container would."""

import json
import os
import subprocess
import sys

from harbor.models.task.task import Task


def main():
    given = json.load(sys.stdin)
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


if __name__ == "__main__":
    main()
