"""Answers of a model: many prompts at once, sampled, with what stopped them."""

import contextlib


def answers(model, words, prompts, most_tokens, temperature=1.0, seed=1, at_once=256):
    """[(text, whether it ended by itself)], in order. Temperature 0: the likeliest token each time."""
    import torch
    device = next(model.parameters()).device
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    out = [None] * len(prompts)
    torch.manual_seed(seed)
    model.eval()
    precision = torch.autocast("cuda", dtype=torch.bfloat16) if device.type == "cuda" else contextlib.nullcontext()
    how = {"do_sample": temperature > 0, **({"temperature": temperature, "top_k": 0, "top_p": 1.0} if temperature > 0 else {})}
    for start in range(0, len(order), at_once):
        part = order[start:start + at_once]
        told = words([prompts[i] for i in part], return_tensors="pt", padding=True, add_special_tokens=False).to(device)
        told.pop("token_type_ids", None)
        with torch.no_grad(), precision:
            made = model.generate(**told, max_new_tokens=most_tokens, pad_token_id=words.pad_token_id, eos_token_id=words.eos_token_id, **how)
        for i, tokens in zip(part, made[:, told["input_ids"].shape[1]:].tolist()):
            ended = words.eos_token_id in tokens
            out[i] = (words.decode(tokens[:tokens.index(words.eos_token_id)] if ended else tokens, skip_special_tokens=True), ended)
    return out
