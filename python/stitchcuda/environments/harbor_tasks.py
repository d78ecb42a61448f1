"""python -m stitchcuda.environments.harbor_tasks skills.jsonl FOLDER [--split test]: a folder for each row, as Harbor has tasks.

The agent leaves its answer in /app/answer.md. The verifier, in a container of its own, asks the reward service:
STITCHCUDA_SERVICE and STITCHCUDA_TOKEN as they are set where Harbor runs. The containers need neither CUDA nor this package.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path

from .. import rl
from . import name_of, prompt_text, read_rows

TASK = """schema_version = "1.4"
artifacts = ["/app/answer.md"]

[task]
name = "stitchcuda/{name}"
description = "A CUDA program for a PyTorch model, {skill}"

[metadata]
category = "cuda"
skill = "{skill}"
split = "{split}"

[agent]
timeout_sec = 3600.0

[verifier]
timeout_sec = 900.0
environment_mode = "separate"

[verifier.env]
STITCHCUDA_SERVICE = "${{STITCHCUDA_SERVICE}}"
STITCHCUDA_TOKEN = "${{STITCHCUDA_TOKEN:-}}"

[environment]
docker_image = "{image}"
workdir = "/app"
"""
ANSWER = "\n\nWrite the answer, as you would say it, into the file /app/answer.md: the fenced blocks in it count."
TEST = "#!/bin/sh\nexec python3 /tests/judge.py /tests/row.json /app/answer.md /logs/verifier/reward.json\n"
JUDGE = '''"""The reward service's answer as Harbor's rewards: judge.py row.json answer.md reward.json"""

import json
import os
import sys

import rl

row, answer, out = sys.argv[1:]
said = open(answer, encoding="utf-8", errors="replace").read() if os.path.isfile(answer) else ""
judged = rl.service().score_many([rl._item(said, json.load(open(row, encoding="utf-8")))])[0]
print(judged["label"], judged.get("reason", ""))
if not judged["counted"]:
    sys.exit("not judged")  # without a reward Harbor tries again
os.makedirs(os.path.dirname(out), exist_ok=True)
with open(out, "w", encoding="utf-8") as file:
    json.dump(dict(rl._numbers(judged), reward=float(judged["reward"])), file)
'''


def write_task(row, number, folder, image):
    name = name_of(row, number)
    task = Path(folder) / name
    extra = row["extra_info"]
    files = {
        "instruction.md": prompt_text(row) + ANSWER + "\n",
        "task.toml": TASK.format(name=name, skill=extra["skill"], split=extra["split"], image=image),
        "tests/test.sh": TEST,
        "tests/judge.py": JUDGE,
        "tests/row.json": json.dumps({"label": row["label"], "skill": extra["skill"]}),
        "environment/README.md": "Nothing but a place for the answer.\n",
    }
    if row.get("completion"):
        files["solution/answer.md"] = row["completion"]
        files["solution/solve.sh"] = "#!/bin/sh\nmkdir -p /app && cp /solution/answer.md /app/answer.md\n"
    for path, text in files.items():
        (task / path).parent.mkdir(parents=True, exist_ok=True)
        (task / path).write_text(text, encoding="utf-8")
        if path.endswith(".sh"):
            (task / path).chmod(0o755)
    shutil.copyfile(rl.__file__, task / "tests" / "rl.py")
    return task


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", help="the file of `stitchcuda skills build`")
    parser.add_argument("folder", help="a new folder")
    parser.add_argument("--split", help="train, validation or test; all if it isn't given")
    parser.add_argument("--image", default="python:3.12-slim", help="of both containers")
    options = parser.parse_args()
    rows = read_rows(options.rows, options.split)
    if not rows:
        parser.error(f"{options.rows} has no rows" + (f" of the split {options.split}" if options.split else ""))
    try:
        Path(options.folder).mkdir(parents=True)
    except FileExistsError:
        parser.error(f"{options.folder} is there already: name a new folder")
    for number, row in enumerate(rows):
        write_task(row, number, options.folder, options.image)
    print(f"{options.folder}: {len(rows)} tasks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
