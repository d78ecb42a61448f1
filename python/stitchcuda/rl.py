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


def _item(response, label, more=None):
    """`label`: a task's name, a JSON text or a dict with "task" and perhaps "before" and "feedback"."""
    if isinstance(label, str) and label.startswith("{"):
        label = json.loads(label)
    item = dict(label) if isinstance(label, dict) else {"task": label}
    for name, value in (more or {}).items():
        item.setdefault(name, value)
    if "task" not in item:
        item["task"] = item.get("task_id") or item.get("ground_truth")
    item = {name: item[name] for name in ("task", "before", "feedback", "language", "skill") if item.get(name)}
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


def _verl_item(solution, ground_truth, extra_info):
    extra = extra_info or {}
    more = {name: extra.get(name) for name in ("task", "task_id", "before", "feedback", "language", "skill")}
    return _item(solution, ground_truth or extra.get("task_id") or extra.get("task"), {n: v for n, v in more.items() if v})


def compute_score_sync(data_source, solution_str, ground_truth, extra_info=None, url=None, token=None, **_):
    answer = service(url, token).score_many([_verl_item(solution_str, ground_truth, extra_info)])[0]
    return dict(_numbers(answer), score=float(answer["reward"]))


async def compute_score(data_source, solution_str, ground_truth, extra_info=None, url=None, token=None, **more):
    return await asyncio.to_thread(compute_score_sync, data_source, solution_str, ground_truth, extra_info, url, token, **more)


def compute_scores(data_sources, solution_strs, ground_truths, extra_infos=None, url=None, token=None, **_):
    """For verl's batch manager: one request for all."""
    extras = extra_infos if extra_infos is not None else [None] * len(solution_strs)
    answers = service(url, token).score_many([_verl_item(*each) for each in zip(solution_strs, ground_truths, extras)])
    return [dict(_numbers(answer), score=float(answer["reward"])) for answer in answers]


# ---- TRL: GRPOTrainer(reward_funcs=stitchcuda_reward); the data set has a column "task"


def stitchcuda_reward(prompts=None, completions=(), task=None, before=None, feedback=None, language=None, log_metric=None, **columns):
    """None for what was not judged: TRL leaves it out."""
    labels = task
    for other in ("ground_truth", "label", "answer"):
        labels = labels if labels is not None else columns.get(other)
    if labels is None:
        raise ServiceError('the data set needs a column "task"')
    items = []
    for i, completion in enumerate(completions):
        more = {
            name: column[i]
            for name, column in (("before", before), ("feedback", feedback), ("language", language))
            if column is not None and column[i]
        }
        items.append(_item(_text(completion), labels[i], more))
    answers = service().score_many(items)
    if log_metric:
        for name in ("correct", "hack", "counted"):
            log_metric("stitchcuda/" + name, sum(_numbers(answer)[name] for answer in answers) / max(1, len(answers)))
    return [float(answer["reward"]) if answer["counted"] else None for answer in answers]


class KernelEnvironment:
    """TRL's environment_factory for the second skill: a program, the Verifier's feedback, a few tries to do better.

    Rows have "task", perhaps "before" and "feedback". Every try is judged; the reward is that of the best one.
    """

    most_tries = 4

    def __init__(self):
        self._row, self._before, self._feedback, self._rewards = {}, None, None, []

    def reset(self, **row) -> str | None:
        self._row, self._rewards = row, []
        self._before, self._feedback = row.get("before"), row.get("feedback")
        if not self._before:
            return None
        return f"The program:\n```\n{self._before}\n```\nWhat the verifier says:\n{self._feedback}"

    def submit(self, code: str) -> str:
        """Judge a whole program and say what is wrong with it or what limits it.

        Args:
            code: The complete source: CUDA behind the C ABI, or Python with ModelNew.
        """
        if len(self._rewards) >= self.most_tries:
            return "There are no tries left."
        label = self._row.get("task") or self._row.get("ground_truth")
        more = {"before": self._before, "feedback": self._feedback, "language": self._row.get("language")}
        answer = service().score_many([_item(code, label, {n: v for n, v in more.items() if v})])[0]
        if answer["counted"]:
            self._rewards.append(float(answer["reward"]))
        self._before, self._feedback = code, answer.get("feedback") or answer["label"]
        return f"{answer['label']} (reward {answer['reward']:.3f})\n{self._feedback}"

    def get_reward(self) -> float:
        return max(self._rewards, default=0.0)


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
            info = extras.get("extra_info") or {}
            spec = extras.get("reward_spec") or {}
            self._label = spec.get("ground_truth") or info.get("task_id") or info.get("task")
            self._before, self._feedback = info.get("before"), info.get("feedback")
            self._answers = []

        def step(self, action):
            self.turns += 1
            more = {"before": self._before, "feedback": self._feedback}
            answer = service().score_many([_item(action, self._label, {n: v for n, v in more.items() if v})])[0]
            self._answers.append(answer)
            self._before, self._feedback = action, answer.get("feedback") or answer["label"]
            done = self.turns >= self.max_turns
            said = [] if done else [{"role": "user", "content": f"{answer['label']}\n{self._feedback}\nAnswer with a better program."}]
            return BaseTextEnvStepOutput(observations=said, reward=float(answer["reward"]), done=done, metadata=_numbers(answer))

        def get_metrics(self):
            return _numbers(self._answers[-1]) if self._answers else {}
