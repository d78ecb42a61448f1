"""Answers with a cache of keys and values, all prompts at once: a token is one CUDA graph, on a CPU the same code without it.

Nothing in a step depends on the host: where the token goes, which keys are there and what was drawn stay on the device, so
the host looks once in `LOOK_EVERY` tokens whether all answers have ended. Weights are copies that each call fills anew: a
graph is recorded once for a number of rows and slots, and stays right while the network is trained.
"""

import types

LOOK_EVERY = 32
SLOTS = 256  # the cache's length is a multiple of it, so that few graphs are needed


class Weights:
    """The network's, in the type of the products; products that read the same rows are one."""

    def __init__(self, model, kind):
        import torch
        self.kind = kind
        self.tensors = [torch.empty_like(each, dtype=kind) for each in self._sources(model)]
        config, device = model.config, next(model.parameters()).device
        positions = torch.arange(4 * config.max_position_embeddings, device=device)[None]  # a prompt and its answer may be longer than a row
        cosine, sine = model.model.rotary_emb(torch.zeros(1, device=device), positions)
        half = cosine.shape[-1] // 2
        self.cosine = cosine[0].to(kind)  # (positions, width)
        self.sine = torch.cat((-sine[0, :, :half], sine[0, :, half:]), -1).to(kind)  # for halves that change places

    @staticmethod
    def _sources(model):
        import torch
        heads, shared = model.config.num_attention_heads, model.config.num_key_value_heads
        yield model.model.embed_tokens.weight.detach()
        for each in model.model.layers:
            attention, mlp = each.self_attn, each.mlp
            yield each.input_layernorm.weight.detach()
            yield torch.cat([part.weight.detach() for part in (attention.q_proj, attention.k_proj, attention.v_proj)])
            yield torch.cat((attention.q_norm.weight.detach().expand(heads, -1), attention.k_norm.weight.detach().expand(shared, -1)))
            yield attention.o_proj.weight.detach()
            yield each.post_attention_layernorm.weight.detach()
            yield torch.cat((mlp.gate_proj.weight.detach(), mlp.up_proj.weight.detach()))
            yield mlp.down_proj.weight.detach()
        yield model.model.norm.weight.detach()

    def fill(self, model):
        for kept, now in zip(self.tensors, self._sources(model)):
            kept.copy_(now)

    @property
    def embedding(self):
        return self.tensors[0]

    @property
    def last(self):
        return self.tensors[-1]

    def layers(self):
        return [self.tensors[i:i + 7] for i in range(1, len(self.tensors) - 1, 7)]


class Decoder:
    """Rows that are answered together: a cache, the token each is at, and the step from one token to the next."""

    def __init__(self, model, weights, batch, slots, most, temperature):
        import torch
        self.config, self.weights, self.temperature = model.config, weights, temperature
        device = weights.embedding.device
        shared, width = self.config.num_key_value_heads, self.config.head_dim

        def zeros(*shape, dtype=torch.long):
            return torch.zeros(*shape, dtype=dtype, device=device)
        self.keys = zeros(self.config.num_hidden_layers, batch, shared, slots, width, dtype=weights.kind)
        self.values = torch.zeros_like(self.keys)
        self.unseen = zeros(batch, 1, 1, slots, dtype=weights.kind)  # 0 for keys that are there, else minus infinity
        self.token, self.position, self.ended = zeros(batch), zeros(batch), zeros(batch, dtype=torch.bool)
        self.slot, self.column = zeros(1), zeros(1)
        self.out = zeros(batch, most)
        self.graph = None

    def begin(self, ids, mask):
        """Prompts, padded on the left, and the first token of each answer."""
        import torch
        prompt, device = ids.shape[1], ids.device
        there = mask.bool()
        positions = (mask.long().cumsum(1) - 1).clamp(min=0)
        self.keys.zero_()
        self.values.zero_()
        self.unseen.fill_(float("-inf"))
        self.unseen[:, 0, 0, :prompt].masked_fill_(there, 0)
        # Rows of padding look at themselves: a softmax over nothing is no number.
        seen = there[:, None, None] & torch.ones(prompt, prompt, dtype=torch.bool, device=device).tril()
        seen |= torch.eye(prompt, dtype=torch.bool, device=device)
        self.out.fill_(self.config.pad_token_id)
        self.ended.fill_(False)
        self.slot.fill_(prompt)
        self.column.zero_()
        self.position.copy_(positions[:, -1])
        self._draw(self._through(ids, positions, lambda i, q, k, v: self._attend_prompt(i, q, k, v, seen)))

    def step(self):
        """The token at hand goes into the cache; the next one is drawn."""
        self.position += 1
        self.unseen.index_fill_(3, self.slot, 0)
        scores = self._through(self.token[:, None], self.position[:, None], self._attend_token)
        self.slot += 1
        self._draw(scores)

    def _attend_prompt(self, i, q, k, v, seen):
        import torch.nn.functional as F
        self.keys[i, :, :, :k.shape[2]] = k
        self.values[i, :, :, :v.shape[2]] = v
        times = q.shape[1] // k.shape[1]
        return F.scaled_dot_product_attention(q, k.repeat_interleave(times, 1), v.repeat_interleave(times, 1), attn_mask=seen)

    def _attend_token(self, i, q, k, v):
        import torch.nn.functional as F
        self.keys[i].index_copy_(2, self.slot, k)
        self.values[i].index_copy_(2, self.slot, v)
        # Heads that share keys are rows of one product.
        grouped = q.view(q.shape[0], k.shape[1], -1, q.shape[-1])
        return F.scaled_dot_product_attention(grouped, self.keys[i], self.values[i], attn_mask=self.unseen).reshape(q.shape)

    def _through(self, tokens, positions, attend):
        """Scores of the token after the last one of each row."""
        import torch
        import torch.nn.functional as F
        config, weights = self.config, self.weights
        heads, shared, width, epsilon = config.num_attention_heads, config.num_key_value_heads, config.head_dim, config.rms_norm_eps
        batch, length = tokens.shape
        cosine, sine = (F.embedding(positions, each)[:, :, None] for each in (weights.cosine, weights.sine))  # (batch, length, 1, width)
        x = F.embedding(tokens, weights.embedding)
        for i, (before, into, normed, out_of, after, gate_up, down) in enumerate(weights.layers()):
            parts = F.linear(F.rms_norm(x, (x.shape[-1],), before, epsilon), into).view(batch, length, heads + 2 * shared, width)
            turning, v = parts.split((heads + shared, shared), 2)
            turning = F.rms_norm(turning, (width,), None, epsilon) * normed
            turning = torch.addcmul(turning * cosine, turning.roll(width // 2, -1), sine)
            q, k = (each.transpose(1, 2) for each in turning.split((heads, shared), 2))
            mixed = attend(i, q, k, v.transpose(1, 2)).transpose(1, 2).reshape(batch, length, -1)
            x = x + F.linear(mixed, out_of)
            gate, up = F.linear(F.rms_norm(x, (x.shape[-1],), after, epsilon), gate_up).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, down)
        return F.linear(F.rms_norm(x[:, -1], (x.shape[-1],), weights.last, epsilon), weights.embedding).float()

    def _draw(self, scores):
        import torch
        if self.temperature == 0:
            drawn = scores.argmax(-1)
        else:  # the largest of p / e, with e drawn from an exponential distribution, is a draw from p
            drawn = (torch.softmax(scores / self.temperature, -1) / torch.empty_like(scores).exponential_()).argmax(-1)
        self.token.copy_(drawn.masked_fill(self.ended, self.config.pad_token_id))
        self.ended.logical_or_(self.token == self.config.eos_token_id)
        self.out.index_copy_(1, self.column, self.token[:, None])
        self.column += 1

    def record(self):
        """The step as a CUDA graph. What it changes while it is tried is set anew by `begin`."""
        import torch
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):  # libraries take their memory before the recording
                self.slot.zero_()
                self.column.zero_()
                self.position.zero_()
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self.step()
        self.graph = graph

    def run(self, most):
        """Tokens (batch, up to `most`) behind the prompts of `begin`; after the end there is padding."""
        made = 1
        while made < most and not bool(self.ended.all()):
            more = min(LOOK_EVERY, most - made)
            for _ in range(more):
                self.graph.replay() if self.graph else self.step()
            made += more
        return self.out[:, :made].clone()


def generate(model, ids, mask, most, temperature=1.0, graphs=True):
    """(batch, up to `most`) tokens after prompts that are padded on the left; after the end there is padding."""
    import torch
    on_gpu = ids.is_cuda
    kept = model.__dict__.setdefault("_decoders", {})
    with torch.no_grad(), torch.autocast(ids.device.type, enabled=False):
        if "weights" not in kept:
            kept["weights"] = Weights(model, torch.bfloat16 if on_gpu else torch.float32)
        kept["weights"].fill(model)
        slots = -(-(ids.shape[1] + most) // SLOTS) * SLOTS
        shape = (ids.shape[0], slots, most, temperature, graphs)
        if shape not in kept:
            for other in [each for each in kept if each != "weights" and each[0] == shape[0]][2:]:
                del kept[other]  # a cache is gigabytes
            kept[shape] = Decoder(model, kept["weights"], *shape[:4])
            if on_gpu and graphs:
                try:
                    kept[shape].record()
                except RuntimeError as error:
                    print(f"no CUDA graph, so launch by launch: {error}", flush=True)
        decoder = kept[shape]
        decoder.begin(ids, mask)
        return decoder.run(most)


def speaking(model):
    """The model, whose `generate` is this file's: for GRPOTrainer, which passes its generation_config."""
    import torch

    def generate_here(self, input_ids=None, attention_mask=None, generation_config=None, **_):
        temperature = generation_config.temperature if generation_config.do_sample else 0
        made = generate(self, input_ids, attention_mask, generation_config.max_new_tokens, temperature)
        return torch.cat((input_ids, made), 1)
    model.generate = types.MethodType(generate_here, model)
    return model
