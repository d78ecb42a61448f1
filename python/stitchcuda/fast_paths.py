"""PyTorch's fused operators for inference, opened into what they compute.

nn.TransformerEncoderLayer and nn.MultiheadAttention call one operator each where no gradient is wanted, and Dynamo's graphs
have those. An export of ours turns that off beforehand; a graph that is there already is written anew.
"""

import torch
from torch.nn import functional as F


def attention(
    query,
    key,
    value,
    embed_dim,
    num_heads,
    qkv_weight,
    qkv_bias,
    proj_weight,
    proj_bias,
    mask=None,
    need_weights=True,
    average_attn_weights=True,
    mask_type=None,
):
    """torch._native_multi_head_attention, (batch, length, features)."""

    def heads(x, part):
        rows = slice(part * embed_dim, (part + 1) * embed_dim)
        return F.linear(x, qkv_weight[rows], qkv_bias[rows]).unflatten(-1, (num_heads, -1)).transpose(1, 2)

    q, k, v = heads(query, 0), heads(key, 1), heads(value, 2)
    if mask is not None:  # nonzero: masked out
        mask = mask.bool()
        mask = ~(mask[:, None, None, :] if mask_type == 1 else mask)
    if need_weights:
        scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
        weights = torch.softmax(scores if mask is None else scores.masked_fill(~mask, float("-inf")), -1)
        result = weights @ v
        weights = weights.mean(1) if average_attn_weights else weights
    else:
        result, weights = F.scaled_dot_product_attention(q, k, v, mask), None
    return F.linear(result.transpose(1, 2).flatten(2), proj_weight, proj_bias), weights


def encoder_layer(
    x,
    embed_dim,
    num_heads,
    qkv_weight,
    qkv_bias,
    proj_weight,
    proj_bias,
    use_gelu,
    norm_first,
    eps,
    norm_weight_1,
    norm_bias_1,
    norm_weight_2,
    norm_bias_2,
    ffn_weight_1,
    ffn_bias_1,
    ffn_weight_2,
    ffn_bias_2,
    mask=None,
    mask_type=None,
):
    """torch._transformer_encoder_layer_fwd."""

    def attend(x):
        return attention(x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, mask_type=mask_type)[0]

    def feed_forward(x):
        return F.linear((F.gelu if use_gelu else F.relu)(F.linear(x, ffn_weight_1, ffn_bias_1)), ffn_weight_2, ffn_bias_2)

    norm_1 = lambda x: F.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)  # noqa: E731
    norm_2 = lambda x: F.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)  # noqa: E731
    if norm_first:
        x = x + attend(norm_1(x))
        return x + feed_forward(norm_2(x))
    x = norm_1(x + attend(x))
    return norm_2(x + feed_forward(x))


OPENED = {torch._transformer_encoder_layer_fwd: encoder_layer, torch._native_multi_head_attention: attention}


def copied(graph):
    out = torch.fx.GraphModule(graph, torch.fx.Graph())
    out.graph.output(out.graph.graph_copy(graph.graph, {}))
    return out


def opened(graph):
    """The graph itself where it has none of them."""
    if not any(node.target in OPENED for node in graph.graph.nodes if node.op == "call_function"):
        return graph
    graph = copied(graph)
    for node in graph.graph.nodes:
        if node.op == "call_function" and node.target in OPENED:
            node.target = OPENED[node.target]
    graph.recompile()
    return graph
