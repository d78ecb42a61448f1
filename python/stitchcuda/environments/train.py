"""python -m stitchcuda.environments.train sft|grpo|evaluate ROWS --model FOLDER --out FOLDER: a Coder learns from rows of `stitchcuda skills`.

PyTorch and transformers alone, so that it runs on a GPU machine where nothing can be installed; engines with more
(TRL, verl) read the same rows: docs/training-engines.md. `sft` learns known answers, `grpo` and `evaluate` ask the
reward service (STITCHCUDA_SERVICE). The same command goes on where it was ended, by --minutes or by the machine. A
policy that collapses is stopped: collapsed.json names its last good checkpoint.
"""

import argparse
import json
import math
import os
import random
import sys
import time
from pathlib import Path

import torch

from .. import rl
from . import read_rows
from .policy import Sampler, add_adapters, log_probabilities, merge_adapters


class Refused(Exception):
    """The user's mistake, in one sentence with a fix."""


class Watch:
    """Is a policy still one? Says what is wrong after `patience` logs in a row that show it; a good one ends the row."""

    def __init__(self, patience=3):
        self.patience, self.lengths, self.best, self.row, self.good_step = patience, [], 0.0, 0, 0

    def trouble(self, log):
        for name in ("loss", "grad_norm", "reward"):
            if not math.isfinite(log.get(name, 0.0)):
                return f"{name} is {log[name]}"
        if log.get("entropy", 1.0) < 0.02:
            return f"entropy {log['entropy']:.3f}: it always says the same"
        if log.get("clipped", 0.0) > 0.9:
            return f"{100 * log['clipped']:.0f} % of the answers don't end"
        usual = sum(self.lengths) / max(1, len(self.lengths))
        if len(self.lengths) == self.patience and log.get("length", usual) < 0.25 * usual:
            return f"answers of {log['length']:.0f} tokens, {usual:.0f} at the beginning"
        if log.get("reward", self.best) < 0.5 * self.best:
            return f"a mean reward of {log['reward']:.3f}, after {self.best:.3f}"
        return ""

    def look(self, step, log):
        """What the policy has come to; empty: go on."""
        trouble = self.trouble(log)
        self.row = self.row + 1 if trouble else 0
        if not trouble:
            self.good_step = step
            self.best = max(self.best, 0.8 * self.best + 0.2 * log.get("reward", 0.0))  # one lucky batch is no measure
            if "length" in log and len(self.lengths) < self.patience:
                self.lengths.append(log["length"])
        return trouble if self.row >= self.patience else ""


# ---- model


def load(folder, device):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    if not (Path(folder) / "config.json").is_file():
        raise Refused(f"{folder} is no model's folder (config.json, weights, tokenizer); of a GGUF file tools/from_gguf.py makes one")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    if tokenizer.chat_template is None:
        raise Refused(f"{folder} has no chat template: take an instruction-tuned model")
    if tokenizer.eos_token is None:
        raise Refused(f"{folder}'s tokenizer has no token that ends an answer (eos_token)")
    # Half precision loses small steps.
    model = AutoModelForCausalLM.from_pretrained(folder).float().to(device)
    if not hasattr(model.model.layers[0].self_attn, "q_proj"):
        raise Refused(f"{folder}: a model of the Llama kind (Llama, Mistral, Qwen2) is needed")
    return model, tokenizer


def prompt_ids(row, tokenizer):
    text = tokenizer.apply_chat_template(row["prompt"], tokenize=False, add_generation_prompt=True)
    return tokenizer(text, add_special_tokens=False)["input_ids"]


# ---- a run that may be ended at any time


class Run:
    """Parameters, optimizer and step in OUT/state.pt; a line a step in OUT/curve.jsonl; the model as it is in OUT/final."""

    def __init__(self, options, model):
        self.options, self.model, self.out = options, model, Path(options.out)
        self.out.mkdir(parents=True, exist_ok=True)
        if (self.out / "collapsed.json").exists():
            told = json.loads((self.out / "collapsed.json").read_text(encoding="utf-8"))
            raise Refused(
                f"{self.out}: the policy collapsed at step {told['step']} ({told['why']}); begin another run with a smaller --lr from {told['good_checkpoint']}"
            )
        self.learning = {name: each for name, each in model.named_parameters() if each.requires_grad}
        self.optimizer = torch.optim.AdamW(self.learning.values(), lr=options.lr, betas=(0.9, 0.95), weight_decay=0.0)
        self.step, self.begin, self.saved, self.watch = 0, time.monotonic(), time.monotonic(), Watch()
        if (self.out / "state.pt").exists():
            state = torch.load(self.out / "state.pt", map_location=model.device, weights_only=True)
            if state["model"].keys() != self.learning.keys():
                raise Refused(f"{self.out} was begun with another model or another --lora")
            model.load_state_dict(state["model"], strict=False)
            self.optimizer.load_state_dict(state["optimizer"])
            self.step = state["step"]
        lines = [json.loads(line) for line in self.curve().read_text(encoding="utf-8").splitlines()] if self.curve().exists() else []
        kept = [line for line in lines if line["step"] <= self.step]  # steps after the last checkpoint are done again
        self.curve().write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
        for line in kept:
            self.watch.look(line["step"], line)

    def curve(self):
        return self.out / "curve.jsonl"

    def late(self):
        return self.options.minutes and time.monotonic() - self.begin > 60 * self.options.minutes

    def save(self):
        state = {"model": {name: each.detach() for name, each in self.learning.items()}, "optimizer": self.optimizer.state_dict(), "step": self.step}
        torch.save(state, self.out / "state.pt.draft")
        os.replace(self.out / "state.pt.draft", self.out / "state.pt")
        self.saved = time.monotonic()

    def update(self, log):
        """After backward. False: the run ends here."""
        warm = min(1.0, (self.step + 1) / max(1, self.options.warmup))
        left = max(0.0, 1 - self.step / self.options.steps) if self.options.method == "sft" else 1.0
        for group in self.optimizer.param_groups:
            group["lr"] = self.options.lr * warm * max(0.1, left)
        log["grad_norm"] = float(torch.nn.utils.clip_grad_norm_(self.learning.values(), 1.0))
        if math.isfinite(log["grad_norm"]):
            self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        log = {"step": self.step, "seconds": round(time.monotonic() - self.begin, 2), **log}
        with open(self.curve(), "a", encoding="utf-8") as lines:
            lines.write(json.dumps(log) + "\n")
        print(" ".join(f"{name} {value:.4g}" for name, value in log.items()), flush=True)
        why = self.watch.look(self.step, log)
        if why:
            told = {"why": why, "step": self.step, "good_checkpoint": str(self.out / "state.pt")}
            (self.out / "collapsed.json").write_text(json.dumps(told) + "\n", encoding="utf-8")
            raise Refused(f"{self.out}: the policy collapsed ({why})")
        if self.watch.row == 0 and (time.monotonic() - self.saved > 60 * self.options.save_minutes or self.late()):
            self.save()
        return not self.late() and self.step < self.options.steps

    def finish(self, tokenizer):
        self.save()
        merge_adapters(self.model)
        self.model.to(torch.bfloat16).save_pretrained(self.out / "final")
        tokenizer.save_pretrained(self.out / "final")
        more = "" if self.step >= self.options.steps else f" of {self.options.steps}; the same command goes on"
        print(f"{self.out}/final after step {self.step}{more}")


def sft(options, model, tokenizer, rows):
    known = [row for row in rows if row.get("completion") and row["extra_info"].get("reward", 0) > 0]
    pairs = [
        (prompt_ids(row, tokenizer), tokenizer(row["completion"], add_special_tokens=False)["input_ids"] + [tokenizer.eos_token_id]) for row in known
    ]
    pairs = sorted((pair for pair in pairs if len(pair[0]) + len(pair[1]) <= options.length), key=lambda pair: len(pair[0]) + len(pair[1]))
    if not pairs:
        raise Refused(f"no row of {options.rows} has a known answer of at most --length {options.length} tokens")
    batches, batch = [], []
    for pair in pairs:  # of about equal length
        if batch and (len(batch) + 1) * (len(pair[0]) + len(pair[1])) > options.tokens:
            batches.append(batch)
            batch = []
        batch.append(pair)
    batches.append(batch)
    print(f"{len(pairs)} of {len(rows)} rows, {sum(len(p) + len(a) for p, a in pairs)} tokens, {len(batches)} batches an epoch", flush=True)
    if not options.steps:
        options.steps = math.ceil(options.epochs * len(batches))
    run = Run(options, model)
    while run.step < options.steps:
        epoch, place = divmod(run.step, len(batches))
        order = list(range(len(batches)))
        random.Random(f"{options.seed} {epoch}").shuffle(order)
        loss = -log_probabilities(model, batches[order[place]], tokenizer.eos_token_id)[0].mean()
        loss.backward()
        if not run.update({"loss": loss.item()}):
            break
    run.finish(tokenizer)


def judged(rows, texts):
    return rl.service().score_many([rl._item(text, row["label"]) for row, text in zip(rows, texts)])


def grpo(options, model, tokenizer, rows):
    options.steps = options.steps or 100
    run = Run(options, model)
    asked = [row for row in rows if len(prompt_ids(row, tokenizer)) <= options.length - options.answer]
    if not asked:
        raise Refused(f"no prompt leaves --answer {options.answer} of --length {options.length} tokens")
    sampler = Sampler(model, tokenizer.eos_token_id, options.sample_rows)
    while run.step < options.steps:
        draw = random.Random(f"{options.seed} {run.step}")
        torch.manual_seed(draw.randrange(1 << 62))
        kept, rewards, ended, lengths, groups, spent = [], [], 0, [], 0, {"generate": 0.0, "judge": 0.0}
        rounds = 0
        while len(kept) < options.prompts and rounds < 3:  # groups without a spread teach nothing: others in their place
            rounds += 1
            chosen = [draw.choice(asked) for _ in range(options.prompts - len(kept))]
            prompts = [prompt_ids(row, tokenizer) for row in chosen for _ in range(options.group)]
            from_here = time.monotonic()
            answers = sampler.answers(prompts, options.answer, options.temperature)
            spent["generate"] += time.monotonic() - from_here
            from_here = time.monotonic()
            said = judged([row for row in chosen for _ in range(options.group)], tokenizer.batch_decode(answers, skip_special_tokens=True))
            spent["judge"] += time.monotonic() - from_here
            lengths += map(len, answers)
            ended += sum(answer[-1] == tokenizer.eos_token_id for answer in answers)
            for g in range(len(chosen)):
                own = [(prompts[i], answers[i], said[i]["reward"]) for i in range(g * options.group, (g + 1) * options.group) if said[i]["counted"]]
                groups += 1
                rewards += [reward for _, _, reward in own]
                if len(own) > 1 and max(r for _, _, r in own) > min(r for _, _, r in own):
                    total = sum(r for _, _, r in own)  # the baseline: the others' mean
                    kept.append([(p, a, r - (total - r) / (len(own) - 1)) for p, a, r in own])
        from_here = time.monotonic()
        samples = sorted((sample for group in kept for sample in group), key=lambda each: len(each[0]) + len(each[1]))
        tokens, loss, entropy = sum(len(answer) for _, answer, _ in samples), 0.0, 0.0
        while samples:
            count = max(1, min(len(samples), options.tokens // (len(samples[-1][0]) + len(samples[-1][1]))))
            part, samples = samples[-count:], samples[:-count]
            logs, which = log_probabilities(model, [(p, a) for p, a, _ in part], tokenizer.eos_token_id)
            gain = torch.tensor([g for _, _, g in part], device=logs.device)[which]
            # One update a rollout: the ratio to the policy that answered is 1, and clipping has nothing to clip.
            own = -(gain * logs).sum() / tokens
            own.backward()
            loss, entropy = loss + own.item(), entropy - logs.sum().item() / tokens
        log = {
            "loss": loss,
            "reward": sum(rewards) / max(1, len(rewards)),
            "length": sum(lengths) / len(lengths),
            "clipped": 1 - ended / len(lengths),
        }
        log |= {
            "groups": groups,
            "spread": len(kept),
            **{name: round(value, 2) for name, value in spent.items()},
            "update": round(time.monotonic() - from_here, 2),
        }
        if tokens:
            log["entropy"] = entropy
        if not run.update(log):
            break
    run.finish(tokenizer)


def evaluate(options, model, tokenizer, rows):
    """A line an answer in OUT, which tools/learning_table.py reads; rows that are there are not asked again."""
    out = Path(options.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    there = {json.loads(line)["row"] for line in out.read_text(encoding="utf-8").splitlines()} if out.exists() else set()
    todo = [row for row in rows if row["extra_info"]["index"] not in there and len(prompt_ids(row, tokenizer)) <= options.length - options.answer]
    random.Random(options.seed).shuffle(todo)
    todo = todo[: max(0, (options.most or len(rows)) - len(there))]
    sampler = Sampler(model, tokenizer.eos_token_id, options.sample_rows)
    clock = rl.Service(os.environ["STITCHCUDA_CLOCK"]) if os.environ.get("STITCHCUDA_CLOCK") else None
    torch.manual_seed(options.seed)
    begin = time.monotonic()
    while todo and not (options.minutes and time.monotonic() - begin > 60 * options.minutes):
        part, todo = todo[: options.prompts], todo[options.prompts :]
        asked = [row for row in part for _ in range(options.group)]
        answers = sampler.answers([prompt_ids(row, tokenizer) for row in asked], options.answer, options.temperature)
        texts = tokenizer.batch_decode(answers, skip_special_tokens=True)
        said = judged(asked, texts)
        seconds = [None] * len(asked)  # not timed; of one right answer a row its own and the known one's, by the same clock
        if clock and options.timed > 0:
            options.timed -= len(part)
            seconds, items, rows_of_items = [[] for _ in asked], [], {}
            for i, row in enumerate(asked):
                if said[i]["label"].startswith("correct") and row["completion"] and rows_of_items.setdefault(row["extra_info"]["index"], i) == i:
                    items += [rl._item(texts[i], row["answer"]), rl._item(row["completion"], row["answer"])]
            timed = [each["verdict"].get("seconds_a_call", 0.0) for each in clock.score_many(items)] if items else []
            for n, i in enumerate(rows_of_items.values()):
                seconds[i] = timed[2 * n : 2 * n + 2]
        with open(out, "a", encoding="utf-8") as lines:
            for i, (row, text, verdict) in enumerate(zip(asked, texts, said)):
                extra = row["extra_info"]
                line = {"row": extra["index"], "task": row["answer"], "skill": extra["skill"], "provenance": extra["provenance"]}
                line |= {
                    "before": extra.get("before_outcome", ""),
                    "label": verdict["label"],
                    "counted": verdict["counted"],
                    "reward": verdict["reward"],
                }
                line |= {
                    "tokens": len(answers[i]),
                    "seconds": seconds[i],
                    "unchanged": bool(extra["before"]) and extra["before"].split() == text.replace("```cuda", "").replace("```", "").split(),
                }
                lines.write(json.dumps(line) + "\n")
                if options.texts:
                    with open(options.texts, "a", encoding="utf-8") as told:
                        told.write(json.dumps({**line, "text": text, "reason": verdict.get("reason", "")}) + "\n")
        print(f"{len(todo)} rows left, {time.monotonic() - begin:.0f} s", flush=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("method", choices=("sft", "grpo", "evaluate"))
    add("rows", help="the file of `stitchcuda skills`")
    add("--model", required=True, help="a folder of transformers (of a GGUF file: tools/from_gguf.py)")
    add("--out", required=True, help="a folder: state.pt, curve.jsonl, final/; of evaluate a file of lines")
    add("--split", default=None, help="train, validation or test (default: train; of evaluate test)")
    add("--steps", type=int, default=0, help="SFT: instead of --epochs; GRPO (default: 100)")
    add("--epochs", type=float, default=2.0)
    add("--minutes", type=float, default=0, help="end after so long, with a checkpoint; 0: never")
    add("--save-minutes", type=float, default=2.0)
    add("--lr", type=float, default=None, help="(default: 3e-4 for SFT, 1e-5 for GRPO)")
    add("--warmup", type=int, default=20, help="steps")
    add("--length", type=int, default=3072, help="tokens of prompt and answer")
    add("--answer", type=int, default=1536, help="tokens of an answer")
    add("--tokens", type=int, default=32768, help="of a batch")
    add("--prompts", type=int, default=16, help="at once")
    add("--group", type=int, default=8, help="answers to a prompt")
    add("--sample-rows", type=int, default=256, help="answers that are generated at once")
    add("--temperature", type=float, default=1.0, help="0: the likeliest token")
    add("--skill", default="", help="rows of one skill alone: 'from scratch' or 'from feedback'")
    add("--most", type=int, default=0, help="evaluate: so many rows")
    add("--timed", type=int, default=16, help="evaluate: rows whose answers the clock times, two or three seconds each")
    add("--texts", default="", help="evaluate: a file for the answers themselves")
    add("--lora", type=int, default=0, help="rank of adapters, whose state.pt is small enough to carry; 0: all parameters learn")
    add("--seed", type=int, default=1)
    add("--cpu", action="store_true")
    options = parser.parse_args(arguments)
    options.lr = options.lr or {"sft": 3e-4}.get(options.method, 1e-5)
    try:
        rows = read_rows(options.rows, options.split or ("test" if options.method == "evaluate" else "train"))
        rows = [row for row in rows if options.skill in ("", row["extra_info"]["skill"])]
        if not rows:
            raise Refused(f"{options.rows} has no rows of that split and skill")
        random.seed(options.seed)
        torch.manual_seed(options.seed)
        device = torch.device("cpu" if options.cpu or not torch.cuda.is_available() else "cuda")
        model, tokenizer = load(options.model, device)
        if options.lora and options.method != "evaluate":
            add_adapters(model, options.lora)
        {"sft": sft, "grpo": grpo, "evaluate": evaluate}[options.method](options, model, tokenizer, rows)
    except (Refused, OSError, ValueError, rl.ServiceError) as wrong:
        print(f"train: {wrong}", file=sys.stderr)
        return 2 if isinstance(wrong, Refused) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
