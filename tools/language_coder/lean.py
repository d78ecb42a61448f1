"""Qwen3's forward pass over transformers' own weights in few launches, for training: at this size the general code waits
for the host. It agrees with transformers' to rounding: the test compares them. decode.py has the one for answers.
"""


def weights_of(model):
    """Per layer the tensors in the order that `layer` takes them."""
    layers = []
    for each in model.model.layers:
        attention, mlp = each.self_attn, each.mlp
        own = (each.input_layernorm, attention.q_proj, attention.k_proj, attention.v_proj, attention.q_norm, attention.k_norm,
               attention.o_proj, each.post_attention_layernorm, mlp.gate_proj, mlp.up_proj, mlp.down_proj)
        layers.append([part.weight for part in own])
    return model.model.embed_tokens.weight, layers, model.model.norm.weight


def rotation(model, positions, dtype):
    """Cosine and sine for each position, (batch, 1, length, width); the sine has the sign of what it is multiplied with."""
    import torch
    cosine, sine = model.model.rotary_emb(torch.zeros(1, device=positions.device), positions)
    half = sine.shape[-1] // 2
    return cosine[:, None].to(dtype), torch.cat((-sine[..., :half], sine[..., half:]), -1)[:, None].to(dtype)


def rotated(x, cosine, sine):
    import torch
    return torch.addcmul(x * cosine, x.roll(x.shape[-1] // 2, -1), sine)


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
