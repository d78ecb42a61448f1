"""Our taskset, loaded and scored by verifiers."""

import asyncio
import json
import sys

import verifiers.v1 as vf
from verifiers.v1.configs.agent import AgentConfig
from verifiers.v1.trace import AgentInfo


def scored(task, said):
    """A trace of verifiers' own, in which the agent said this."""
    trace = vf.Trace(task=vf.TraceTask(type=type(task).__name__, data=task.data), agent=AgentInfo(config=AgentConfig()), root_reply=said)
    asyncio.run(task.score(trace))
    return trace


def main():
    given = json.load(sys.stdin)
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


if __name__ == "__main__":
    main()
