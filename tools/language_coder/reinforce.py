"""GRPO by TRL's own GRPOTrainer; rewards are the reward service's. Ends when it is told to."""

import json
import os
import time

from . import decode, examine, without_datasets

REWARDS = ("combined", "rule")


def reward_of(kind, verdict):
    """None for what was not judged. The service's answer has the rule's part beside the whole."""
    if verdict is None or not verdict["counted"]:
        return None
    return float(verdict["reward"] if kind == "combined" else verdict["components"].get("rule", 0.0))


def filled(prompts, rewards):
    """What was not judged gets its group's mean, an advantage of nothing: TRL would take it for a reward of 0."""
    known = {}
    for prompt, reward in zip(prompts, rewards):
        known.setdefault(prompt, []).extend([] if reward is None else [reward])
    means = {prompt: sum(each) / len(each) if each else 0.0 for prompt, each in known.items()}
    return [means[prompt] if reward is None else reward for prompt, reward in zip(prompts, rewards)]


class Rewarding:
    """TRL's reward function; every rollout becomes a line of rollouts.jsonl."""

    __name__ = "stitchcuda"

    def __init__(self, judged_by, kind, seed, words, most_tokens, out):
        self.judged_by, self.kind, self.seed, self.words, self.most_tokens, self.calls = judged_by, kind, seed, words, most_tokens, 0
        self.last = time.monotonic()
        self.file = open(os.path.join(out, "rollouts.jsonl"), "a", encoding="utf-8")

    def __call__(self, prompts, completions, question, completion_ids=None, **_):
        begin = time.monotonic()
        asked = [json.loads(each) for each in question]
        ended = [len(ids) < self.most_tokens for ids in completion_ids] if completion_ids is not None else [True] * len(asked)
        verdicts = self.judged_by.score_many([examine.item_of(each, text) for each, text in zip(asked, completions)])
        lines = [examine.examined(*each) for each in zip(asked, completions, ended, verdicts)]
        self.calls += 1
        for line, text in zip(lines, completions):
            self.file.write(json.dumps({"call": self.calls, "arm": self.kind, "seed": self.seed, **line, "answer": text}) + "\n")
        self.file.flush()
        seen = examine.summary(lines)
        rewards = [reward_of(self.kind, verdict) for verdict in verdicts]
        groups = {}
        for each, reward in zip(prompts, rewards):
            groups.setdefault(each, set()).add(reward)
        uneven = sum(len(each - {None}) > 1 for each in groups.values())
        print(f"{self.kind}, seed {self.seed}, rollout {self.calls}: {json.dumps(_short(seen))}; {uneven} of {len(groups)} groups have a spread; "
              f"{begin - self.last:.1f} s since the last, judged in {time.monotonic() - begin:.1f} s", flush=True)
        self.last = time.monotonic()
        return filled(prompts, rewards)


def _short(summary):
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in summary.items()}


def imports():
    # No network: nothing is fetched, no telemetry is sent.
    os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")
    without_datasets.install()
    import trl
    return trl.GRPOTrainer


def train(model, words, questions, judged_by, out, part, kind, most_rollouts, prompts_a_rollout, group, most_tokens, rate, seed, iterations,
          beta, temperature):
    """`part.goes_on(rollouts)` is asked after each rollout's last step."""
    imports()
    stood_in = without_datasets.stood_in()
    if stood_in:
        print("standing in for", ", ".join(stood_in), flush=True)
    import torch
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import GRPOConfig, GRPOTrainer
    os.makedirs(out, exist_ok=True)
    on_gpu = next(model.parameters()).is_cuda

    class Ends(TrainerCallback):
        def on_step_end(self, args, state, control, **_):
            if state.global_step % iterations == 0:
                save_log(state.log_history)
                control.should_training_stop |= not part.goes_on(state.global_step // iterations)
            return control

    def save_log(history):
        with open(os.path.join(out, "grpo.json"), "w", encoding="utf-8") as file:
            json.dump({"reward": kind, "seed": seed, "stood_in": stood_in, "log": history}, file, indent=1)

    config = GRPOConfig(output_dir=os.path.join(out, "trainer"), use_cpu=not on_gpu, bf16=on_gpu, report_to="none",
                        max_steps=most_rollouts * iterations, logging_steps=1, per_device_train_batch_size=prompts_a_rollout * group,
                        num_generations=group, max_completion_length=most_tokens, learning_rate=rate, lr_scheduler_type="constant",
                        beta=beta, epsilon=0.2, epsilon_high=0.28, num_iterations=iterations, temperature=temperature, top_p=1.0, top_k=0,
                        save_strategy="no", disable_tqdm=True, gradient_checkpointing=False, seed=seed, use_vllm=False,
                        dataloader_num_workers=0, max_grad_norm=1.0, dataloader_pin_memory=on_gpu)
    rows = Dataset.from_list([{"prompt": each["prompt"], "question": json.dumps(each)} for each in questions])
    reward = Rewarding(judged_by, kind, seed, words, most_tokens, out)
    trainer = GRPOTrainer(model=decode.speaking(model), reward_funcs=reward, args=config, train_dataset=rows, processing_class=words,
                          callbacks=[Ends()])
    torch.manual_seed(seed)
    trainer.train()
    save_log(trainer.state.log_history)
    return trainer.model
