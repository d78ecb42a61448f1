"""Rows as a taskset of verifiers (version 1 of its API): `--taskset.id stitchcuda_taskset --taskset.rows skills.jsonl`.

A package of its own, since verifiers finds a taskset by the name of a package.

Its reward is the reward service's (STITCHCUDA_SERVICE, STITCHCUDA_TOKEN), for the last thing that the model said.
"""

import asyncio

import verifiers.v1 as vf

from stitchcuda import rl
from stitchcuda.environments import name_of, prompt_text, read_rows


class KernelTaskData(vf.TaskData):
    label: str
    skill: str


class KernelTask(vf.Task[KernelTaskData]):
    @vf.reward(weight=1.0)
    async def judged(self, trace: vf.Trace) -> float:
        item = rl._item(trace.last_reply or "", {"label": self.data.label, "skill": self.data.skill})
        answer = (await asyncio.to_thread(rl.service().score_many, [item]))[0]
        trace.record_metrics(rl._numbers(answer))
        if not answer["counted"]:
            raise vf.TaskError(f"not judged: {answer.get('reason', answer['label'])}")
        return float(answer["reward"])


class KernelConfig(vf.TasksetConfig):
    rows: str = "skills.jsonl"
    split: str | None = None


class KernelTaskset(vf.Taskset[KernelTask, KernelConfig]):
    def load(self):
        for number, row in enumerate(read_rows(self.config.rows, self.config.split)):
            data = KernelTaskData(name=name_of(row, number), prompt=prompt_text(row), label=row["label"], skill=row["extra_info"]["skill"])
            yield KernelTask(data, self.config.task)


__all__ = ["KernelTaskset"]
