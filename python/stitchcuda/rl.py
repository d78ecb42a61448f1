"""Rewards of a StitchCUDA service (`stitchcuda serve`) in the forms of RL engines: docs/reward-service.md.

The standard library alone, and no other file of this package: verl loads a reward by its path. The service's address
and token come from STITCHCUDA_SERVICE and STITCHCUDA_TOKEN unless told.
"""

import asyncio
import json
import os
import random
import time
import urllib.error
import urllib.request


class ServiceError(RuntimeError):
    """The service is away for longer than `patience`, or says that the request is wrong."""


class Service:
    """A reward service. Requests are repeated while it is away or busy: it judges each candidate once."""

    def __init__(self, url=None, token=None, patience=None, timeout=90.0):
        self.url = (url or os.environ.get("STITCHCUDA_SERVICE", "http://127.0.0.1:8130")).rstrip("/")
        self.token = token if token is not None else os.environ.get("STITCHCUDA_TOKEN", "")
        self.patience = float(patience if patience is not None else os.environ.get("STITCHCUDA_PATIENCE", 300))
        self.timeout = timeout

    def score(self, task, code, **more):
        return self.score_many([dict(more, task=task, code=code)])[0]

    def score_many(self, items):
        """An answer for each item, in order: {"task", "code" or "response", "language", "before", "feedback"}."""
        answers = [None] * len(items)
        while True:
            todo = [i for i, answer in enumerate(answers) if answer is None]
            if not todo:
                return answers
            got = self._post("/score?wait=%d" % int(self.timeout), {"items": [_clean(items[i]) for i in todo]})
            for i, answer in zip(todo, got["answers"]):
                if answer.get("state") == "refused":
                    raise ServiceError(answer["error"]["message"])
                if answer.get("state") == "done":
                    answers[i] = answer

    def _post(self, path, body):
        data = json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        # A proxy of the environment is for the internet.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        away_since, pause = None, 0.5
        while True:
            try:
                request = urllib.request.Request(self.url + path, data=data, headers=headers)
                with opener.open(request, timeout=self.timeout + 60) as response:
                    return json.load(response)
            except urllib.error.HTTPError as refused:
                text = refused.read(2000).decode(errors="replace")
                if refused.code == 429:  # it is there, and has much to do
                    away_since = None
                    time.sleep(min(60.0, float(refused.headers.get("Retry-After") or 1)) * random.uniform(0.8, 1.2))
                    continue
                if refused.code < 500:
                    raise ServiceError(f"{self.url}{path}: {refused.code} {text}") from None
                trouble = f"status {refused.code}"
            except (OSError, ValueError) as away:  # refused, reset, timed out, cut off in the middle
                trouble = str(away)
            away_since = away_since or time.monotonic()
            if time.monotonic() - away_since > self.patience:
                raise ServiceError(f"{self.url} is away for more than {self.patience:.0f} s: {trouble}")
            time.sleep(pause * random.uniform(0.8, 1.2))
            pause = min(2 * pause, 10.0)


_services = {}


def service(url=None, token=None):
    key = (url, token)
    if key not in _services:
        _services[key] = Service(url, token)
    return _services[key]


def _clean(item):
    # An empty answer is an answer.
    return {name: value or "" for name, value in item.items() if value not in (None, "") or name in ("code", "response")}


def _text(completion):
    """What the model said: a text, or the last of its messages."""
    if isinstance(completion, str):
        return completion
    said = [message for message in completion if message.get("role", "assistant") == "assistant"]
    content = said[-1].get("content") if said else ""
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content or ""


# A row of ours (`stitchcuda skills`), as each engine hands it over: columns, or what is nested in one of them.
_PLACES = ("extra_info", "info", "reward_model", "reward_spec", "verifier_metadata")
_LABELS = ("label", "task", "task_id", "ground_truth", "answer")


def _item(response, *rows):
    """What the service is asked. The first of `rows` that has a field counts: a dict, or a label alone (a task's name, or
    a JSON text with "task" and, for the second skill, "before" and "feedback")."""
    item, seen = {}, list(rows)
    while seen:
        row = seen.pop(0)
        if isinstance(row, str):
            row = json.loads(row) if row.startswith("{") else {"task": row}
        if not isinstance(row, dict):
            continue
        for name in ("before", "feedback", "language", "skill"):
            if row.get(name):
                item.setdefault(name, row[name])
        label = next((row[name] for name in _LABELS if row.get(name)), None)
        if isinstance(label, dict) or (isinstance(label, str) and label.startswith("{")):
            seen.insert(0, label)
        elif label:
            item.setdefault("task", label)
        seen += [row.get(name) for name in _PLACES]
    if "task" not in item:
        raise ServiceError('the row names no task: it needs a field "label" or "task"')
    return dict(item, response=response)


def _numbers(answer):
    """The same keys for every answer: engines put them into columns."""
    label, components = answer["label"], answer.get("components", {})
    return {
        "counted": float(answer["counted"]),
        "correct": float(label.startswith("correct")),
        "hack": float(label == "hack"),
        "rule": float(components.get("rule", 0.0)),
        "rubric_total": float(components.get("total", 0)),
        "speedup": float(components.get("speedup", 0.0)),
    }


# ---- verl: custom_reward_function.path=…/rl.py, .name=compute_score


def compute_score_sync(data_source, solution_str, ground_truth, extra_info=None, url=None, token=None, **_):
    return compute_scores([data_source], [solution_str], [ground_truth], [extra_info], url, token)[0]


async def compute_score(data_source, solution_str, ground_truth, extra_info=None, url=None, token=None, **more):
    return await asyncio.to_thread(compute_score_sync, data_source, solution_str, ground_truth, extra_info, url, token, **more)


def compute_scores(data_sources, solution_strs, ground_truths, extra_infos=None, url=None, token=None, **_):
    """For verl's batch manager: one request for all."""
    extras = extra_infos if extra_infos is not None else [None] * len(solution_strs)
    answers = service(url, token).score_many([_item(*each) for each in zip(solution_strs, ground_truths, extras)])
    return [dict(_numbers(answer), score=float(answer["reward"])) for answer in answers]


# ---- TRL: GRPOTrainer(reward_funcs=stitchcuda_reward), or with environment_factory=KernelEnvironment and no reward_funcs


def stitchcuda_reward(prompts=None, completions=(), log_metric=None, **columns):
    """None for what was not judged: TRL leaves it out."""
    rows = [
        {name: column[i] for name, column in columns.items() if isinstance(column, (list, tuple)) and len(column) == len(completions)}
        for i in range(len(completions))
    ]
    answers = service().score_many([_item(_text(completion), row) for completion, row in zip(completions, rows)])
    if log_metric:
        for name in ("correct", "hack", "counted"):
            log_metric("stitchcuda/" + name, sum(_numbers(answer)[name] for answer in answers) / max(1, len(answers)))
    return [float(answer["reward"]) if answer["counted"] else None for answer in answers]


class Tries:
    """Several tries at a row, each judged. All are scored as what the row asks for, from what it started with: a try that
    is bad on purpose makes the next one worth no more. The reward is that of the best one."""

    def __init__(self, row, most=4):
        self.row, self.most = row, most
        self.answers = []

    def submit(self, response):
        answer = service().score_many([_item(response, self.row)])[0]
        self.answers.append(answer)
        return f"{answer['label']} (reward {answer['reward']:.3f})\n{answer.get('feedback') or answer['label']}"

    @property
    def over(self):
        return len(self.answers) >= self.most

    @property
    def reward(self):
        return max((float(answer["reward"]) for answer in self.answers if answer["counted"]), default=0.0)


class KernelEnvironment:
    """TRL's environment_factory: a task, or a program and the Verifier's feedback, and a few tries with the tool `submit`.

    TRL takes the reward from get_reward(): a reward function beside it would be added to it.
    """

    most_tries = 4

    def __init__(self):
        self._tries = Tries({}, self.most_tries)

    def reset(self, **row) -> str | None:
        self._tries = Tries(row, self.most_tries)
        item = _item("", row)
        prompt = row.get("prompt") or ""
        said = prompt if isinstance(prompt, str) else "".join(str(message.get("content", "")) for message in prompt)
        if not item.get("before") or item["before"] in said:
            return None
        return f"The program:\n```\n{item['before']}\n```\nWhat the verifier says:\n{item.get('feedback', '')}"

    def submit(self, code: str) -> str:
        """Judge a program and say what is wrong with it or what limits it.

        Args:
            code: The complete source: CUDA behind the C ABI, or Python with ModelNew. Of a program of several files
                those that differ from the one given, each behind a line "// file: PATH".
        """
        return "There are no tries left." if self._tries.over else self._tries.submit(code)

    def get_reward(self) -> float:
        return self._tries.reward


# ---- slime: --custom-rm-path stitchcuda.rl.slime_reward, where a token or several tries are needed


async def slime_reward(args, sample, **_):
    answers = await asyncio.to_thread(service().score_many, [_item(sample.response, sample.label)])
    return float(answers[0]["reward"])


# ---- SkyRL: skyrl_gym.register(id="stitchcuda", entry_point="stitchcuda.rl:KernelTextEnv")

try:
    from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput
except ImportError:
    BaseTextEnv = None

if BaseTextEnv is not None:

    class KernelTextEnv(BaseTextEnv):
        """One turn from scratch, or with max_turns > 1 several, each with the feedback to the one before."""

        def __init__(self, env_config=None, extras=None):
            super().__init__()
            extras = extras or {}
            self.max_turns = int(extras.get("max_turns", 1))
            self._tries = Tries(extras, self.max_turns)

        def step(self, action):
            self.turns += 1
            said = self._tries.submit(action)
            answer, done = self._tries.answers[-1], self.turns >= self.max_turns
            more = [] if done else [{"role": "user", "content": said + "\nAnswer with a better program."}]
            return BaseTextEnvStepOutput(observations=more, reward=float(answer["reward"]), done=done, metadata=_numbers(answer))

        def get_metrics(self):
            return _numbers(self._tries.answers[-1]) if self._tries.answers else {}
