"""python tools/environments/check.py TOOL FOLDER [openenv|verifiers|harbor …]: the environments of
python/stitchcuda/environments against the packages that they are for, each installed into a venv FOLDER/NAME.

The reward service of TOOL judges on the emulated device; what each package gets is compared with its own answers. Harbor
wants Python 3.12: its own reader of task folders is taken out of its wheel, and the verifier's script is run without a
container.
"""

import json
import os
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(ROOT, "python", "stitchcuda")]
import make_candidates  # noqa: E402
import rl  # noqa: E402
from serve_load import Served  # noqa: E402

TASK = "2_Scale"
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
                    [python, os.path.join(HERE, f"with_{name}.py")],
                    input=json.dumps(expected),
                    text=True,
                    env=dict(os.environ, PYTHONPATH=os.pathsep.join(paths)),
                )
                failed += ran.returncode != 0
        finally:
            served.stop()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
