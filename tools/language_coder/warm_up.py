"""Supervised warm-up: the decoder learns the corpus's answers, by plain PyTorch, for a given number of seconds.

The learning rate follows the clock (a short rise, then a cosine to nearly nothing), so a run ends where its time does.
Every `save_every` seconds the weights are on disk.
"""

import contextlib
import json
import math
import os
import random
import time

from . import lean

DONE = "warm_up.json"  # there when the warm-up is over


def batches(rows, tokens_a_batch, draw):
    """Rows of like length together, in an order that changes every epoch."""
    order = sorted(range(len(rows)), key=lambda i: (len(rows[i][0]) + draw.random() * 32))
    made, start = [], 0
    while start < len(order):
        end, longest = start, 0
        while end < len(order) and max(longest, len(rows[order[end]][0])) * (end - start + 1) <= tokens_a_batch:
            longest = max(longest, len(rows[order[end]][0]))
            end += 1
        made.append([rows[i] for i in order[start:max(end, start + 1)]])
        start = max(end, start + 1)
    draw.shuffle(made)
    return made


def encoded(rows, words, context):
    """[(tokens, length of the prompt)]; rows that do not fit are left out."""
    prompts = words([row["prompt"] for row in rows], add_special_tokens=False)["input_ids"]
    answers = words([row["answer"] for row in rows], add_special_tokens=False)["input_ids"]
    end = words.eos_token_id
    return [(prompt + answer + [end], len(prompt)) for prompt, answer in zip(prompts, answers) if len(prompt) + len(answer) < context]


def tensors(batch, device):
    import torch
    longest = max(len(tokens) for tokens, _ in batch)
    ids = torch.zeros(len(batch), longest, dtype=torch.long)
    labels = torch.full((len(batch), longest), -100, dtype=torch.long)
    for i, (tokens, prompt) in enumerate(batch):
        ids[i, :len(tokens)] = torch.tensor(tokens)
        labels[i, prompt:len(tokens)] = ids[i, prompt:len(tokens)]
    return ids.to(device, non_blocking=True), labels.to(device, non_blocking=True)


def answer_loss(model, ids, labels, prompt_weight=0.1):
    """Cross entropy of the answers; of the prompts a tenth as much, which teaches what tasks look like."""
    import torch
    logits = lean.logits(model, ids)[:, :-1]
    each = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]).float(), ids[:, 1:].reshape(-1), reduction="none")
    answers = (labels[:, 1:] >= 0).reshape(-1)
    told = (ids[:, 1:] > 0).reshape(-1) & ~answers
    loss = (each * answers).sum() / answers.sum()
    return loss + prompt_weight * (each * told).sum() / told.sum().clamp(min=1), loss


def train(model, words, rows, out, seconds, context, tokens_a_batch=32768, rate=1.5e-3, seed=1, save_every=20.0, good_enough=0.0):
    import torch
    device = next(model.parameters()).device
    with contextlib.suppress(FileNotFoundError):  # of a run before
        os.remove(os.path.join(out, DONE))
    draw = random.Random(seed)
    data = encoded(rows, words, context)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.95), weight_decay=0.05, fused=device.type == "cuda")
    begin = saved = time.monotonic()
    step, epoch, losses, curve = 0, 0, [], []
    model.train()
    while True:
        epoch += 1
        for batch in batches(data, tokens_a_batch, draw):
            gone = (time.monotonic() - begin) / seconds
            if gone >= 1 or curve and curve[-1]["loss"] < good_enough:
                break
            factor = min(1.0, (step + 1) / 40) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * gone)))
            for group in optimizer.param_groups:
                group["lr"] = rate * factor
            ids, labels = tensors(batch, device)
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
                total, loss = answer_loss(model, ids, labels)
            optimizer.zero_grad(set_to_none=True)
            total.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.detach())
            step += 1
            if step % 25 == 0:
                curve.append({"step": step, "epoch": epoch, "seconds": time.monotonic() - begin, "loss": float(torch.stack(losses).mean())})
                losses = []
                print("warm-up", json.dumps(curve[-1]), flush=True)
                if time.monotonic() - saved > save_every:
                    save(model, words, out)
                    saved = time.monotonic()
        else:
            continue
        break
    save(model, words, out)
    place = os.path.join(out, DONE)
    with open(place + ".part", "w", encoding="utf-8") as file:
        json.dump({"rows": len(data), "tokens": sum(len(tokens) for tokens, _ in data), "steps": step, "epochs": epoch,
                   "seconds": time.monotonic() - begin, "curve": curve}, file, indent=1)
    os.replace(place + ".part", place)
    return step


def save(model, words, out):
    os.makedirs(out, exist_ok=True)
    from transformers.utils import logging
    logging.disable_progress_bar()
    model.save_pretrained(out)
    words.save_pretrained(out)
