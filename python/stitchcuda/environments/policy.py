"""A language model of transformers as a policy: what its answers are worth to it, adapters, many answers at once."""

import copy
import math
import sys

import torch
from torch.nn import functional as F


def log_probabilities(model, rows, pad):
    """Of the answers' tokens, for [(prompt, answer)]: a flat tensor, and each token's row. The head sees answers alone."""
    device = model.device
    width = max(len(prompt) + len(answer) for prompt, answer in rows)
    ids = torch.full((len(rows), width), pad)
    answers = torch.zeros(len(rows), width, dtype=torch.bool)
    mask = torch.zeros(len(rows), width, dtype=torch.long)
    for i, (prompt, answer) in enumerate(rows):
        end = len(prompt) + len(answer)
        ids[i, :end], mask[i, :end], answers[i, len(prompt) : end] = torch.tensor(prompt + answer), 1, True
    ids, mask, answers = ids.to(device), mask.to(device), answers[:, 1:].to(device)
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        hidden = model.model(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state[:, :-1][answers]
        logits = model.lm_head(hidden)
    said = F.cross_entropy(logits.float(), ids[:, 1:][answers], reduction="none")
    return -said, answers.nonzero()[:, 0]


class Adapter(torch.nn.Module):
    """A linear layer that stays as it is, and a product of two thin matrices that learns."""

    def __init__(self, base, rank):
        super().__init__()
        self.base = base
        self.down = torch.nn.Parameter(torch.randn(rank, base.in_features, device=base.weight.device) / math.sqrt(base.in_features))
        self.up = torch.nn.Parameter(torch.zeros(base.out_features, rank, device=base.weight.device))

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.down), self.up)


def add_adapters(model, rank):
    model.requires_grad_(False)
    for layer in model.model.layers:
        for block in (layer.self_attn, layer.mlp):
            for name, child in list(block.named_children()):
                if isinstance(child, torch.nn.Linear):
                    setattr(block, name, Adapter(child, rank))


@torch.no_grad()
def merge_adapters(model):
    for layer in model.model.layers:
        for block in (layer.self_attn, layer.mlp):
            for name, child in list(block.named_children()):
                if isinstance(child, Adapter):
                    child.base.weight += child.up @ child.down
                    setattr(block, name, child.base)


class Sampler:
    """Answers to many prompts at once over a cache of fixed size; on a GPU in bfloat16, a step one CUDA graph."""

    def __init__(self, model, end, rows):
        self.dtype = torch.bfloat16 if model.device.type == "cuda" else torch.float32
        self.trained, own = model, copy.deepcopy(model).to(self.dtype).requires_grad_(False)
        own.model.rotary_emb = copy.deepcopy(model.model.rotary_emb)  # whose frequencies would be rounded
        self.model, self.head, self.end, self.rows, config = own.model, own.lm_head, end, rows, model.config
        self.own, self.kv_heads, self.heads = own, config.num_key_value_heads, config.num_attention_heads
        self.size = getattr(config, "head_dim", None) or config.hidden_size // self.heads

    def forward(self, ids, positions, slots, mask, keys, values):
        """Logits of the last column. ids, positions: (rows, columns); slots: of the cache, one a column; mask: (rows, columns, slots)."""
        rows, columns = ids.shape
        x = self.model.embed_tokens(ids)
        cosine, sine = (each.unsqueeze(1).to(x.dtype) for each in self.model.rotary_emb(x, positions))
        half = self.size // 2

        def rotated(y):
            return y * cosine + torch.cat((-y[..., half:], y[..., :half]), -1) * sine

        for n, layer in enumerate(self.model.layers):
            attention, y = layer.self_attn, layer.input_layernorm(x)
            q, k, v = (p(y).view(rows, columns, -1, self.size).transpose(1, 2) for p in (attention.q_proj, attention.k_proj, attention.v_proj))
            keys[n].index_copy_(2, slots, rotated(k))
            values[n].index_copy_(2, slots, v)
            # Query heads of a group are rows of one product: keys and values are read once for all of them.
            q = rotated(q).reshape(rows, self.kv_heads, -1, self.size)
            allowed = mask.repeat(1, self.heads // self.kv_heads, 1).unsqueeze(1)
            y = F.scaled_dot_product_attention(q, keys[n], values[n], attn_mask=allowed)
            y = y.reshape(rows, self.heads, columns, self.size).transpose(1, 2).reshape(rows, columns, -1)
            x = x + attention.o_proj(y)
            x = x + layer.mlp(layer.post_attention_layernorm(x))
        return self.head(self.model.norm(x[:, -1]))

    @torch.no_grad()
    def answers(self, prompts, longest, temperature=1.0):
        """A list of token lists, the end token included where one came."""
        for own, trained in zip(self.own.parameters(), self.trained.parameters()):
            own.copy_(trained)
        order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
        out = [None] * len(prompts)
        for begin in range(0, len(order), self.rows):
            part = order[begin : begin + self.rows]
            for i, answer in zip(part, self.batch([prompts[i] for i in part], longest, temperature)):
                out[i] = answer
        return out

    def batch(self, prompts, longest, temperature):
        rows, width, device = len(prompts), max(map(len, prompts)), self.own.device
        slots = -(-(width + longest) // 8) * 8
        left = torch.tensor([width - len(p) for p in prompts], device=device)  # padding before a prompt
        ids = torch.tensor([[0] * (width - len(p)) + p for p in prompts], device=device)
        shape = (rows, self.kv_heads, slots, self.size)
        keys, values = ([torch.zeros(shape, dtype=self.dtype, device=device) for _ in self.model.layers] for _ in "kv")
        column = torch.arange(slots, device=device)
        there = column[None] >= left[:, None]

        def mask(last):  # (columns,) -> (rows, columns, slots); a padded column sees itself, or its sum would be empty
            return (there[:, None] & (column[None, None] <= last[None, :, None])) | (column[None, None] == last[None, :, None])

        first = column[:width]
        logits = self.forward(ids, (first[None] - left[:, None]).clamp(min=0), first, mask(first), keys, values)
        token, at = torch.zeros(rows, 1, dtype=torch.long, device=device), torch.tensor([width], device=device)
        done = torch.zeros(rows, dtype=torch.bool, device=device)

        def draw(logits):
            noise = -torch.log(-torch.log(torch.rand_like(logits, dtype=torch.float32).clamp(1e-20, 1 - 1e-7)))
            new = (logits.float() / temperature + noise).argmax(-1) if temperature > 0 else logits.argmax(-1)
            new = torch.where(done, self.end, new)
            done.logical_or_(new == self.end)
            token.copy_(new[:, None])

        def step():
            draw(self.forward(token, at[None] - left[:, None], at, mask(at), keys, values))
            at.add_(1)

        draw(logits)
        tokens, replay = [token[:, 0].clone()], step
        for count in range(1, longest):
            if count == 3 and device.type == "cuda":  # two steps warm up
                try:
                    graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(graph):
                        step()
                    replay = graph.replay
                except RuntimeError as why:
                    print(f"no CUDA graph: {why}", file=sys.stderr)
            replay()
            tokens.append(token[:, 0].clone())
            if count % 32 == 0 and bool(done.all()):
                break
        answers = []
        for line in torch.stack(tokens, 1).tolist():
            answers.append(line[: line.index(self.end) + 1] if self.end in line else line)
        return answers
