"""Answers of a model: many prompts at once, sampled, with what stopped them."""

from . import decode


def answers(model, words, prompts, most_tokens, temperature=1.0, seed=1, at_once=256):
    """[(text, whether it ended by itself)], in order. Temperature 0: the likeliest token each time."""
    import torch
    device = next(model.parameters()).device
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    out = [None] * len(prompts)
    torch.manual_seed(seed)
    model.eval()
    for start in range(0, len(order), at_once):
        part = order[start:start + at_once]
        told = words([prompts[i] for i in part], return_tensors="pt", padding=True, add_special_tokens=False).to(device)
        made = decode.generate(model, told["input_ids"], told["attention_mask"], most_tokens, temperature).tolist()
        for i, tokens in zip(part, made):
            ended = words.eos_token_id in tokens
            out[i] = (words.decode(tokens[:tokens.index(words.eos_token_id)] if ended else tokens, skip_special_tokens=True), ended)
    return out
