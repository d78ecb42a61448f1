"""Qwen3's forward pass over transformers' own weights in few launches: at this size the general code waits for the host.

`logits` is for training, `generate` for answers (a cache of keys and values, all prompts at once). Both agree with
transformers' to rounding: the test compares them. GRPOTrainer calls `generate` where `speaking(model)` put it.
"""

import types


def weights_of(model, dtype=None):
    """Per layer the tensors in the order that `layer` takes them; `dtype`: copies in that type."""
    def as_asked(tensor):
        return tensor if dtype is None else tensor.detach().to(dtype)
    layers = []
    for each in model.model.layers:
        attention, mlp = each.self_attn, each.mlp
        own = (each.input_layernorm, attention.q_proj, attention.k_proj, attention.v_proj, attention.q_norm, attention.k_norm,
               attention.o_proj, each.post_attention_layernorm, mlp.gate_proj, mlp.up_proj, mlp.down_proj)
        layers.append([as_asked(part.weight) for part in own])
    return as_asked(model.model.embed_tokens.weight), layers, as_asked(model.model.norm.weight)


def rotation(model, positions, dtype):
    """Cosine and sine for each position, (batch, 1, length, width)."""
    import torch
    cosine, sine = model.model.rotary_emb(torch.zeros(1, device=positions.device), positions)
    return cosine[:, None].to(dtype), sine[:, None].to(dtype)


def rotated(x, cosine, sine):
    import torch
    left, right = x.chunk(2, -1)
    return x * cosine + torch.cat((-right, left), -1) * sine


def norm(x, weight, epsilon):
    import torch.nn.functional as F
    return F.rms_norm(x, (x.shape[-1],), weight.to(x.dtype), epsilon)  # one kernel, if both are of one type


def layer(config, own, x, turn, attend):
    """`attend(q, k, v)`: (batch, heads, length, width) to the same shape of q. Products in the rotation's type."""
    import torch.nn.functional as F
    before, wq, wk, wv, nq, nk, wo, after, gate, up, down = own
    epsilon, kind = config.rms_norm_eps, turn[0].dtype
    batch, length, _ = x.shape
    normed = norm(x, before, epsilon).to(kind)
    q = norm(F.linear(normed, wq).view(batch, length, -1, config.head_dim), nq, epsilon).transpose(1, 2)
    k = norm(F.linear(normed, wk).view(batch, length, -1, config.head_dim), nk, epsilon).transpose(1, 2)
    v = F.linear(normed, wv).view(batch, length, -1, config.head_dim).transpose(1, 2)
    mixed = attend(rotated(q, *turn), rotated(k, *turn), v)
    x = x + F.linear(mixed.transpose(1, 2).reshape(batch, length, -1), wo)
    normed = norm(x, after, epsilon).to(kind)
    return x + F.linear(F.silu(F.linear(normed, gate)) * F.linear(normed, up), down)


def logits(model, ids):
    """Of every position; no row has padding before its tokens."""
    import torch
    import torch.nn.functional as F
    config, (embedding, layers, last) = model.config, weights_of(model)
    x = F.embedding(ids, embedding)
    # In the type that products are computed in, so that no kernel converts.
    kind = torch.get_autocast_dtype(ids.device.type) if torch.is_autocast_enabled(ids.device.type) else x.dtype
    turn = rotation(model, torch.arange(ids.shape[1], device=ids.device)[None], kind)

    def attend(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    for own in layers:
        x = layer(config, own, x, turn, attend)
    return F.linear(norm(x, last, config.rms_norm_eps).to(kind), embedding)


def generate(model, ids, mask, most, temperature=1.0, look_every=16):
    """(batch, up to `most`) tokens after prompts that are padded on the left; after the end there is padding."""
    import torch
    import torch.nn.functional as F
    config, device = model.config, ids.device
    kind = torch.bfloat16 if device.type == "cuda" else torch.float32
    embedding, layers, last = weights_of(model, kind)
    batch, prompt = ids.shape
    shared, width = config.num_key_value_heads, config.head_dim
    cache = torch.zeros(len(layers), 2, batch, shared, prompt + most, width, dtype=kind, device=device)
    there = torch.zeros(batch, prompt + most, dtype=torch.bool, device=device)  # keys that are no padding
    there[:, :prompt] = mask.bool()
    positions = (mask.long().cumsum(1) - 1).clamp(min=0)
    causal = torch.ones(prompt, prompt, dtype=torch.bool, device=device).tril()
    # Rows of padding look at themselves: a softmax over nothing is no number.
    seen = (causal & there[:, None, None, :prompt]) | torch.eye(prompt, dtype=torch.bool, device=device)
    end, pad = model.config.eos_token_id, model.config.pad_token_id

    def through(tokens, positions, seen, at):
        x, turn = F.embedding(tokens, embedding), rotation(model, positions, kind)
        length = tokens.shape[1]
        for i, own in enumerate(layers):
            def attend(q, k, v, i=i):
                cache[i, 0, :, :, at:at + length] = k
                cache[i, 1, :, :, at:at + length] = v
                keys, values = cache[i, 0, :, :, :at + length], cache[i, 1, :, :, :at + length]
                if length > 1:
                    return F.scaled_dot_product_attention(q, keys.repeat_interleave(q.shape[1] // shared, 1),
                                                          values.repeat_interleave(q.shape[1] // shared, 1), attn_mask=seen)
                # One token: heads that share keys are rows of one product.
                grouped = F.scaled_dot_product_attention(q.view(batch, shared, -1, width), keys, values, attn_mask=seen)
                return grouped.reshape(batch, -1, 1, width)
            x = layer(config, own, x, turn, attend)
        return F.linear(norm(x[:, -1], last, config.rms_norm_eps), embedding).float()

    def drawn(scores):
        if temperature == 0:
            return scores.argmax(-1)
        return (torch.softmax(scores / temperature, -1) / torch.empty_like(scores).exponential_()).argmax(-1)
    out = torch.full((batch, most), pad, dtype=torch.long, device=device)
    ended = torch.zeros(batch, dtype=torch.bool, device=device)
    position = positions[:, -1:]
    with torch.no_grad(), torch.autocast(device.type, enabled=False):
        token = drawn(through(ids, positions, seen, 0))
        for step in range(most):
            token = torch.where(ended, pad, token)
            out[:, step] = token
            ended |= token == end
            if step + 1 == most or (step % look_every == look_every - 1 and bool(ended.all())):
                break
            there[:, prompt + step] = True
            position = position + 1
            token = drawn(through(token[:, None], position, there[:, None, None, :prompt + step + 1], prompt + step))
    return out[:, :step + 1]


def speaking(model):
    """The model, whose `generate` is this file's: for GRPOTrainer, which passes its generation_config."""
    import torch

    def generate_here(self, input_ids=None, attention_mask=None, generation_config=None, **_):
        temperature = generation_config.temperature if generation_config.do_sample else 0
        made = generate(self, input_ids, attention_mask, generation_config.max_new_tokens, temperature)
        return torch.cat((input_ids, made), 1)
    model.generate = types.MethodType(generate_here, model)
    return model
