"""python -m stitchcuda.environments.openenv_server skills.jsonl [--port 8000]: rows as tasks over OpenEnv's protocol.

A sidecar of `stitchcuda serve` (STITCHCUDA_SERVICE, STITCHCUDA_TOKEN) on the package `openenv`. A task is a row; reset() takes
`split` and `index`, or draws by `seed`. An episode has up to `tries` answers: with one it is single-turn, with more each
observation has the Verifier's feedback. Nothing of a candidate runs here: the service judges it behind its sandbox.
"""

import argparse
import uuid

from openenv.core.env_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, ConcurrencyConfig, EnvironmentMetadata, Observation, State
from openenv.core.rubrics import Rubric
from pydantic import Field

from .. import rl
from . import name_of, prompt_text, read_rows


class KernelAction(Action):
    code: str = Field(description="A model's answer with fenced code, or a source")


class KernelObservation(Observation):
    prompt: str = Field(default="", description="What is asked for; after an answer, what the Verifier says of it")
    label: str = Field(default="", description="correct, wrong, not built, crashed, hack …; empty before the first answer")
    counted: bool = Field(default=True, description="False: the machine could not judge it; leave it out of a batch")
    numbers: dict[str, float] = Field(default_factory=dict, description="Parts of the reward: rule, rubric_total, speedup …")
    tries_left: int = 0


class KernelState(State):
    task: str = ""
    skill: str = ""
    best_reward: float = 0.0


class Part(Rubric):
    """A number of the service: what the reward is made of."""

    def __init__(self, name):
        super().__init__()
        self.name = name

    def forward(self, action, observation):
        return float(observation.numbers.get(self.name, 0.0))


class Judged(Rubric):
    """The service's reward, with its parts as children."""

    def __init__(self):
        super().__init__()
        self.rule, self.rubric_total, self.speedup = Part("rule"), Part("rubric_total"), Part("speedup")
        self.correct, self.hack = Part("correct"), Part("hack")

    def forward(self, action, observation):
        for _, part in self.named_rubrics():
            part(action, observation)
        return float(observation.numbers.get("reward", 0.0))


class KernelEnvironment(Environment[KernelAction, KernelObservation, KernelState]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, rows, tries=1):
        super().__init__(rubric=Judged())
        self._rows, self._most = rows, tries
        self._splits = {}
        for row in rows:
            self._splits.setdefault(row["extra_info"]["split"], []).append(row)
        self._tries, self._state = None, KernelState()

    def reset(self, seed=None, episode_id=None, split=None, index=None, tries=None, **_):
        rows = self._rows if split is None else self._tasks(split)
        at = (seed or 0) % len(rows) if index is None else int(index)
        if not 0 <= at < len(rows):
            raise ValueError(f"there is no task {at}: {len(rows)} in {split or 'all splits'}")
        row = rows[at]
        self._reset_rubric()
        self._tries = rl.Tries(row, max(1, int(tries or self._most)))
        self._state = KernelState(episode_id=episode_id or str(uuid.uuid4()), task=str(row["answer"]), skill=row["extra_info"]["skill"])
        return KernelObservation(prompt=prompt_text(row), tries_left=self._tries.most)

    def step(self, action, timeout_s=None, **_):
        if self._tries is None:
            raise ValueError("reset() comes first")
        if self._tries.over:
            return KernelObservation(prompt="There are no tries left.", done=True, reward=0.0)
        said = self._tries.submit(action.code)
        answer = self._tries.answers[-1]
        out = KernelObservation(
            prompt=said,
            label=answer["label"],
            counted=bool(answer["counted"]),
            numbers=dict(rl._numbers(answer), reward=float(answer["reward"])),
            tries_left=self._tries.most - len(self._tries.answers),
            done=self._tries.over,
        )
        # The gain over the best try so far: the episode's sum is that of its best one.
        value = self._apply_rubric(action, out) if out.counted else 0.0
        out.reward = max(0.0, value - self._state.best_reward) if self._state.step_count else value
        self._state.step_count += 1
        self._state.best_reward = self._tries.reward
        return out

    @property
    def state(self):
        return self._state

    def get_metadata(self):
        return EnvironmentMetadata(name="stitchcuda", description="CUDA programs for PyTorch models, judged by StitchCUDA's Verifier", version="1")

    def _tasks(self, split):
        if split not in self._splits:
            raise ValueError(f"there is no split '{split}': one of {', '.join(self._splits)}")
        return self._splits[split]

    def _spec(self, split, index):
        row = self._tasks(split)[index]
        return {"id": name_of(row, index), "index": index, "task": row["answer"], "skill": row["extra_info"]["skill"]}

    def list_splits(self):
        return sorted(self._splits)

    def num_tasks(self, split):
        return len(self._tasks(split))

    def get_task(self, split, index):
        return self._spec(split, index)

    def list_tasks(self, split):
        return [self._spec(split, index) for index in range(len(self._tasks(split)))]

    def get_task_range(self, split, start=None, stop=None):
        return [self._spec(split, index) for index in range(*slice(start, stop).indices(len(self._tasks(split))))]


def app_of(rows, tries=1, sessions=512, idle_seconds=1800.0):
    """Sessions that are never ended, or whose client vanished, end after `idle_seconds`."""
    return create_app(
        lambda: KernelEnvironment(rows, tries),
        KernelAction,
        KernelObservation,
        env_name="stitchcuda",
        state_cls=KernelState,
        concurrency_config=ConcurrencyConfig(max_concurrent_envs=sessions, session_timeout=idle_seconds),
    )


def main():
    import uvicorn

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", help="the file of `stitchcuda skills build`")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--tries", type=int, default=1, help="answers in an episode; reset(tries=…) overrules")
    parser.add_argument("--sessions", type=int, default=512)
    parser.add_argument("--idle", type=float, default=1800.0, help="seconds after which a session without a message ends")
    options = parser.parse_args()
    rows = read_rows(options.rows)
    if not rows:
        parser.error(f"{options.rows} has no rows")
    uvicorn.run(app_of(rows, options.tries, options.sessions, options.idle), host=options.host, port=options.port, log_level="warning")


if __name__ == "__main__":
    main()
