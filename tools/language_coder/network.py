"""The decoder: Qwen3's architecture by transformers' configuration, weights drawn at random."""

# hidden, layers, heads, heads of keys and values, width of the MLP
SIZES = {"tiny": (64, 2, 2, 1, 128), "small": (384, 6, 6, 2, 1024), "base": (512, 8, 8, 4, 1536)}


def no_plans():
    """cuDNN's attention makes a plan for every new shape, which takes longer than the work: batches differ in length, and with
    a cache that grows every token is a new shape. PyTorch's own kernels need none."""
    import torch
    torch.backends.cuda.enable_cudnn_sdp(False)


def fresh(size, words, context, seed):
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM
    no_plans()
    hidden, layers, heads, shared, inner = SIZES[size]
    torch.manual_seed(seed)
    config = Qwen3Config(vocab_size=-(-words // 64) * 64, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                         num_key_value_heads=shared, head_dim=64 if hidden >= 384 else 32, intermediate_size=inner,
                         max_position_embeddings=context, tie_word_embeddings=True, pad_token_id=0, eos_token_id=1, bos_token_id=None,
                         attention_bias=False, use_cache=True)
    return Qwen3ForCausalLM(config)


def parameters(model):
    return sum(each.numel() for each in model.parameters())


def load(folder):
    from transformers import Qwen3ForCausalLM
    no_plans()
    return Qwen3ForCausalLM.from_pretrained(folder)
