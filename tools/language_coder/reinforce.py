"""GRPO by TRL's own GRPOTrainer; rewards are the reward service's. Ends by itself at a deadline."""

import json
import os
import time

from . import examine, lean, without_datasets

REWARDS = ("combined", "rule")


def reward_of(kind, verdict):
    """None for what was not judged: TRL leaves it out. The service's answer has the rule's part beside the whole."""
    if verdict is None or not verdict["counted"]:
        return None
    return float(verdict["reward"] if kind == "combined" else verdict["components"].get("rule", 0.0))


class Rewarding:
    """TRL's reward function; every rollout becomes a line of rollouts.jsonl."""

    __name__ = "stitchcuda"

    def __init__(self, judges, kind, words, most_tokens, out):
        self.judges, self.kind, self.words, self.most_tokens, self.calls = judges, kind, words, most_tokens, 0
        self.file = open(os.path.join(out, "rollouts.jsonl"), "a", encoding="utf-8")

    def __call__(self, prompts, completions, question, completion_ids=None, **_):
        begin = time.monotonic()
        asked = [json.loads(each) for each in question]
        ended = [len(ids) < self.most_tokens for ids in completion_ids] if completion_ids is not None else [True] * len(asked)
        verdicts = self.judges.score_many([examine.item_of(each, text) for each, text in zip(asked, completions)])
        lines = [examine.examined(*each) for each in zip(asked, completions, ended, verdicts)]
        self.calls += 1
        for line, text in zip(lines, completions):
            self.file.write(json.dumps({"call": self.calls, "arm": self.kind, **line, "answer": text}) + "\n")
        self.file.flush()
        seen = examine.summary(lines)
        print(f"{self.kind} rollout {self.calls}: {json.dumps(_short(seen))} judged in {time.monotonic() - begin:.1f} s", flush=True)
        return [reward_of(self.kind, verdict) for verdict in verdicts]


def _short(summary):
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in summary.items()}


def imports():
    # Nothing is fetched, and nobody is told.
    os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")
    without_datasets.install()
    import trl
    return trl.GRPOTrainer


def train(model, words, questions, judges, out, kind="combined", until=None, most_steps=1000, prompts_a_step=8, group=8, most_tokens=700,
          rate=3e-5, seed=1, iterations=2, beta=0.02, temperature=1.0):
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

    class Deadline(TrainerCallback):
        """Ends where the next rollout would be too late, by the longest step so far."""
        last, longest = time.monotonic(), 0.0

        def on_step_end(self, args, state, control, **_):
            now = time.monotonic()
            self.longest, self.last = max(self.longest, now - self.last), now
            if until is not None and state.global_step % iterations == 0 and now + self.longest > until:
                control.should_training_stop = True
            return control

    config = GRPOConfig(output_dir=os.path.join(out, "trainer"), use_cpu=not on_gpu, bf16=on_gpu, report_to="none", max_steps=most_steps,
                        logging_steps=1, per_device_train_batch_size=prompts_a_step * group, num_generations=group,
                        max_completion_length=most_tokens, learning_rate=rate, lr_scheduler_type="constant", beta=beta, epsilon=0.2,
                        epsilon_high=0.28, num_iterations=iterations, temperature=temperature, top_p=1.0, top_k=0, save_strategy="no",
                        disable_tqdm=True, gradient_checkpointing=False, seed=seed, use_vllm=False, dataloader_num_workers=0,
                        max_grad_norm=1.0, dataloader_pin_memory=on_gpu)
    rows = Dataset.from_list([{"prompt": each["prompt"], "question": json.dumps(each)} for each in questions])
    reward = Rewarding(judges, kind, words, most_tokens, out)
    trainer = GRPOTrainer(model=lean.speaking(model), reward_funcs=reward, args=config, train_dataset=rows, processing_class=words, callbacks=[Deadline()])
    torch.manual_seed(seed)
    trainer.train()
    with open(os.path.join(out, "grpo.json"), "w", encoding="utf-8") as file:
        json.dump({"reward": kind, "steps": trainer.state.global_step, "stood_in": stood_in, "log": trainer.state.log_history}, file, indent=1)
    trainer.model.save_pretrained(os.path.join(out, "model"))
    words.save_pretrained(os.path.join(out, "model"))
    return trainer.model, trainer.state.global_step  # the next reward gets as many steps
