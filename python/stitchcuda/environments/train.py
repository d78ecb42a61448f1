"""python -m stitchcuda.environments.train sft|grpo skills.jsonl --model MODEL --out FOLDER: TRL on rows of `stitchcuda skills`.

`sft` learns known answers; `grpo` asks the reward service (STITCHCUDA_SERVICE). The same command goes on where it was ended,
by --minutes, by a signal or by the machine. A policy that collapses is stopped: collapsed.json names its last good checkpoint.
What these trainers can do beyond it, their own scripts do: docs/training-engines.md.
"""

import argparse
import json
import math
import sys
import time
from pathlib import Path

from .. import rl
from . import read_rows


class Refused(Exception):
    """The user's mistake, in one sentence with a fix."""


class Watch:
    """Is a policy still one? Looks at what a trainer logs and says what is wrong after `patience` logs in a row that show it; one that is well ends the row."""

    def __init__(self, patience=3, least_entropy=0.02, least_length=0.25, most_clipped=0.9, least_reward=0.5):
        self.patience, self.least_entropy, self.least_length = patience, least_entropy, least_length
        self.most_clipped, self.least_reward = most_clipped, least_reward
        self.first_lengths, self.best_reward, self.row, self.good_step = [], 0.0, 0, 0

    def trouble(self, log):
        """Of one log alone; empty: nothing."""
        for name in ("loss", "grad_norm", "reward"):
            if name in log and not math.isfinite(float(log[name])):
                return f"{name} is {log[name]}"
        if log.get("entropy", 1.0) < self.least_entropy:
            return f"entropy {log['entropy']:.3f}: it always says the same"
        if log.get("completions/clipped_ratio", 0.0) > self.most_clipped:
            return f"{100 * log['completions/clipped_ratio']:.0f} % of the answers don't end"
        length = log.get("completions/mean_length")
        if length is not None and len(self.first_lengths) == self.patience:
            usual = sum(self.first_lengths) / self.patience
            if length < self.least_length * usual:
                return f"answers of {length:.0f} tokens, {usual:.0f} at the beginning"
        if log.get("reward", self.best_reward) < self.least_reward * self.best_reward:
            return f"a mean reward of {log['reward']:.3f}, after {self.best_reward:.3f}"
        return ""

    def look(self, step, log):
        """What the policy has come to; empty: go on."""
        if not log.keys() & {"loss", "reward", "entropy"}:
            return ""
        trouble = self.trouble(log)
        if not trouble:
            self.row, self.good_step = 0, step
            # Smoothed: one lucky batch is no measure.
            self.best_reward = max(self.best_reward, 0.8 * self.best_reward + 0.2 * float(log.get("reward", 0.0)))
            if "completions/mean_length" in log and len(self.first_lengths) < self.patience:
                self.first_lengths.append(float(log["completions/mean_length"]))
            return ""
        self.row += 1
        return trouble if self.row >= self.patience else ""


def checkpoints(folder):
    """Whole ones, by step: a machine may have gone while one was written."""
    found = {}
    for path in Path(folder).glob("checkpoint-*"):
        if path.name[11:].isdigit() and (path / "trainer_state.json").is_file():
            found[int(path.name[11:])] = path
    return dict(sorted(found.items()))


def callback_of(watch, out, seconds):
    from transformers import TrainerCallback

    class Pieces(TrainerCallback):
        def __init__(self):
            self.begin = time.monotonic()

        def on_step_end(self, args, state, control, **_):
            if seconds and time.monotonic() - self.begin > seconds and state.global_step < state.max_steps:
                control.should_save = control.should_training_stop = True

        def on_log(self, args, state, control, logs=None, **_):
            why = watch.look(state.global_step, logs or {})
            if not why:
                return
            good = [path for step, path in checkpoints(out).items() if step <= watch.good_step]
            told = {"why": why, "step": state.global_step, "good_step": watch.good_step, "good_checkpoint": str(good[-1]) if good else None}
            (Path(out) / "collapsed.json").write_text(json.dumps(told) + "\n", encoding="utf-8")
            control.should_training_stop, control.should_save = True, False

    return Pieces()


def refuse_if_collapsed(out):
    try:
        told = json.loads((Path(out) / "collapsed.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    start = f"--model {told['good_checkpoint']}" if told["good_checkpoint"] else "the model that it began with"
    raise Refused(f"{out}: the policy collapsed at step {told['step']} ({told['why']}); begin another run with {start} and a smaller --lr")


def model_and_tokenizer(name):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(name)
    if tokenizer.chat_template is None:
        raise Refused(f"{name} has no chat template: take an instruction-tuned model")
    if tokenizer.eos_token is None:
        raise Refused(f"{name}'s tokenizer has no token that ends an answer (eos_token)")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return AutoModelForCausalLM.from_pretrained(name, dtype="auto"), tokenizer


def sft_data(rows):
    from datasets import Dataset

    known = [row for row in rows if row.get("completion") and row["extra_info"].get("reward", 0) > 0]
    if not known:
        raise Refused("no row has a known answer: `stitchcuda skills build --runs` has them from recorded runs")
    return Dataset.from_list([{"prompt": row["prompt"], "completion": [{"role": "assistant", "content": row["completion"]}]} for row in known])


def grpo_data(rows):
    from datasets import Dataset

    return Dataset.from_list([{"prompt": row["prompt"], "label": row["label"], "extra_info": {"skill": row["extra_info"]["skill"]}} for row in rows])


def trainer_of(options, rows):
    from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

    model, tokenizer = model_and_tokenizer(options.model)
    peft = None
    if options.lora:
        from peft import LoraConfig

        peft = LoraConfig(r=options.lora, lora_alpha=options.lora, target_modules="all-linear")
    common = {
        "output_dir": options.out,
        "max_steps": options.steps,
        "learning_rate": options.lr,
        "seed": options.seed,
        "report_to": "none",
        "per_device_train_batch_size": options.batch,
        "logging_steps": 1,
        "save_steps": options.save_steps,
        "save_total_limit": 5,
        "use_cpu": options.cpu,
        "bf16": not options.cpu,
        "disable_tqdm": True,
    }
    if options.method == "sft":
        config = SFTConfig(completion_only_loss=True, max_length=options.length, **common)
        return SFTTrainer(model=model, args=config, train_dataset=sft_data(rows), processing_class=tokenizer, peft_config=peft)
    config = GRPOConfig(
        num_generations=options.group,
        max_completion_length=options.length,
        temperature=1.0,
        beta=0.0,
        epsilon=0.2,
        epsilon_high=0.28,
        loss_type="dapo",
        **common,
    )
    return GRPOTrainer(
        model=model, reward_funcs=rl.stitchcuda_reward, args=config, train_dataset=grpo_data(rows), processing_class=tokenizer, peft_config=peft
    )


def train(options):
    refuse_if_collapsed(options.out)
    rows = read_rows(options.rows, options.split)
    if not rows:
        raise Refused(f"{options.rows} has no rows of the split {options.split}")
    trainer = trainer_of(options, rows)
    trainer.add_callback(callback_of(Watch(), options.out, options.minutes * 60))
    done = checkpoints(options.out)
    trainer.train(resume_from_checkpoint=str(done[max(done)]) if done else None)
    state = trainer.state
    with open(Path(options.out) / "curve.jsonl", "w", encoding="utf-8") as out:
        out.writelines(json.dumps(entry) + "\n" for entry in state.log_history)
    if (Path(options.out) / "collapsed.json").exists():
        refuse_if_collapsed(options.out)
    if state.global_step < options.steps:
        print(f"step {state.global_step} of {options.steps}; the same command goes on")
        return 0
    trainer.save_model(str(Path(options.out) / "final"))
    losses = [entry["loss"] for entry in state.log_history if math.isfinite(entry.get("loss", math.nan))]
    rewards = [entry["reward"] for entry in state.log_history if "reward" in entry]
    said = f"reward {rewards[0]:.3f} to {rewards[-1]:.3f}" if rewards else f"loss {losses[0]:.3f} to {losses[-1]:.3f}"
    print(f"{options.out}/final after {state.global_step} steps: {said}")
    return 0


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("method", choices=("sft", "grpo"))
    parser.add_argument("rows", help="the file of `stitchcuda skills build`")
    parser.add_argument("--model", required=True, help="a name or a folder")
    parser.add_argument("--out", required=True, help="checkpoints, curve.jsonl, final/")
    parser.add_argument("--split", default="train")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=0, help="end after so long, with a checkpoint; 0: never")
    parser.add_argument("--lr", type=float, default=1e-5)
    parser.add_argument("--batch", type=int, default=8, help="a device; of GRPO a multiple of --group")
    parser.add_argument("--group", type=int, default=8, help="GRPO: answers to a prompt")
    parser.add_argument("--length", type=int, default=2048, help="tokens: of SFT altogether, of GRPO the answer's")
    parser.add_argument("--save-steps", type=int, default=10)
    parser.add_argument("--lora", type=int, default=0, help="rank; 0: all parameters")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args(arguments)
    try:
        return train(options)
    except (Refused, ValueError, rl.ServiceError) as wrong:
        print(f"train: {wrong}", file=sys.stderr)
        return 2 if isinstance(wrong, Refused) else 1


if __name__ == "__main__":
    sys.exit(main())
