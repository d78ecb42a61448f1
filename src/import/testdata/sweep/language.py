"""transformers' models by their configurations, made tiny, with random weights."""

import inspect

import torch

from stitchcuda_torch.cases.case import Case

TINY = dict(hidden_size=32, n_embd=32, d_model=32, num_hidden_layers=2, n_layer=2, num_layers=2, n_layers=2, num_attention_heads=4, n_head=4, n_heads=4,
            num_heads=4, num_key_value_heads=2, intermediate_size=48, n_inner=48, d_ff=48, ffn_dim=48, vocab_size=99, max_position_embeddings=64,
            n_positions=64, n_ctx=64, head_dim=8, moe_intermediate_size=16, num_experts=4, num_local_experts=4, n_routed_experts=4, moe_num_experts=4,
            num_experts_per_tok=2, n_shared_experts=1, n_group=1, topk_group=1, q_lora_rank=16, kv_lora_rank=16, qk_rope_head_dim=8,
            qk_nope_head_dim=8, v_head_dim=8, qk_head_dim=16, first_k_dense_replace=1, shared_expert_intermediate_size=16, embedding_size=32,
            encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48,
            word_embed_proj_dim=32, pad_token_id=0, bos_token_id=1, eos_token_id=2, use_cache=False, decoder_start_token_id=1, sliding_window=4,
            image_size=32, patch_size=8, num_channels=3, state_size=8, ssm_state_size=8, num_codebooks=2, layer_types=None, attention_dropout=0.0)


def cases(samples):
    import transformers
    from transformers.models.auto import modeling_auto
    transformers.logging.set_verbosity_error()
    seen = set()
    for kind, mapping in (("causal", modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING), ("masked", modeling_auto.MODEL_FOR_MASKED_LM_MAPPING),
                          ("seq2seq", modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING),
                          ("image", modeling_auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING)):
        for config in sorted(mapping.keys(), key=lambda c: c.__name__):
            name = f"{kind}_{config.model_type}"
            if name in seen:
                continue
            seen.add(name)
            yield name, lambda config=config, mapping=mapping, kind=kind: build(config, mapping, kind)


def build(config_class, mapping, kind):
    parameters = inspect.signature(config_class.__init__).parameters
    known = {name for name in TINY if name in parameters or hasattr(config_class, name)} | set(getattr(config_class, "attribute_map", {}))
    settings = {name: value for name, value in TINY.items() if name in known}
    if not settings:
        settings = {name: value for name, value in TINY.items() if name in ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size")}
    config = config_class(**settings)
    model_class = mapping[config_class]
    model_class = model_class[0] if isinstance(model_class, tuple) else model_class
    torch.manual_seed(3)
    model = model_class(config)
    if sum(p.numel() for p in model.parameters()) > 60e6:
        raise ValueError("the configuration did not become small")
    g = torch.Generator().manual_seed(4)
    if kind == "image":
        size = getattr(config, "image_size", 64)
        size = size if isinstance(size, int) else size[0]
        return Case("", Logits(model, ("pixel_values",)), (torch.rand(1, 3, size, size, generator=g),), eval=True, tolerance=1e-6)
    tokens = torch.randint(3, 99, (2, 12), generator=g)
    if kind == "seq2seq":
        return Case("", Logits(model, ("input_ids", "decoder_input_ids")), (tokens, tokens[:, :7]), eval=True, tolerance=1e-6)
    return Case("", Logits(model, ("input_ids",)), (tokens,), eval=True, tolerance=1e-6)


class Logits(torch.nn.Module):
    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs):
        more = {"use_cache": False} if "use_cache" in inspect.signature(self.model.forward).parameters else {}
        return self.model(**dict(zip(self.names, inputs)), **more)["logits"]
