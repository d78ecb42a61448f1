"""Language, vision and speech models of Hugging Face transformers, two layers each, with random weights."""
import torch
import transformers as hf
from torch import nn

from stitchcuda_torch.cases.case import Case

hf.logging.set_verbosity_error()  # about token ids beyond these small vocabularies

SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, vocab_size=99)
LLAMA = dict(SMALL, max_position_embeddings=64, num_key_value_heads=2, pad_token_id=0, use_cache=False)
BERT = dict(SMALL, max_position_embeddings=64, use_cache=False)
VISION = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=32, patch_size=8)


class Outputs(nn.Module):
    """Gives a model its inputs by name and returns the named outputs, in place of transformers' dictionary."""

    def __init__(self, model, inputs, outputs):
        super().__init__()
        self.model, self.inputs, self.outputs = model, inputs, outputs

    def forward(self, *tensors):
        result = self.model(**dict(zip(self.inputs, tensors)), return_dict=True)
        values = tuple(result[name] for name in self.outputs)
        return values[0] if len(values) == 1 else values


def build(model, config, attention):
    """Random weights, wide enough that attention is not uniform."""
    config._attn_implementation = attention
    model = model(config)
    generator = torch.Generator().manual_seed(201)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            fan_in = parameter[0].numel()
            parameter.data = torch.randn(parameter.shape, generator=generator) / fan_in**0.5
    return model


def cases():
    generator = torch.Generator().manual_seed(202)
    tokens = torch.randint(3, 99, (2, 9), generator=generator)
    target = torch.randint(3, 99, (2, 7), generator=generator)
    padding = torch.tensor([[1] * 9, [1] * 6 + [0] * 3])
    image = torch.rand(2, 3, 32, 32, generator=generator)
    ids, masked, pixels = ["input_ids"], ["input_ids", "attention_mask"], ["pixel_values"]
    logits, hidden = ["logits"], ["last_hidden_state"]
    sdpa, eager = "sdpa", "eager"

    # name, model, configuration, names of inputs, inputs, outputs, attention
    table = [
        ("llama", hf.LlamaForCausalLM, hf.LlamaConfig(**LLAMA), ids, (tokens,), logits, sdpa),
        ("llama_eager", hf.LlamaForCausalLM, hf.LlamaConfig(**LLAMA), ids, (tokens,), logits, eager),
        ("llama_padded", hf.LlamaForCausalLM, hf.LlamaConfig(**LLAMA), masked, (tokens, padding), logits, eager),
        ("mistral_sliding_window", hf.MistralForCausalLM, hf.MistralConfig(**LLAMA, sliding_window=4), ids, (tokens,), logits, eager),
        ("qwen2", hf.Qwen2ForCausalLM, hf.Qwen2Config(**LLAMA), ids, (tokens,), logits, sdpa),
        ("qwen3", hf.Qwen3ForCausalLM, hf.Qwen3Config(**LLAMA, head_dim=12), ids, (tokens,), logits, eager),
        ("gemma", hf.GemmaForCausalLM, hf.GemmaConfig(**LLAMA, head_dim=8), ids, (tokens,), logits, sdpa),
        ("gemma2_soft_caps", hf.Gemma2ForCausalLM, hf.Gemma2Config(**LLAMA, head_dim=8, sliding_window=4, query_pre_attn_scalar=8), ids, (tokens,), logits, eager),
        ("phi", hf.PhiForCausalLM, hf.PhiConfig(**LLAMA), ids, (tokens,), logits, eager),
        ("phi3", hf.Phi3ForCausalLM, hf.Phi3Config(**LLAMA), ids, (tokens,), logits, sdpa),
        ("olmo2", hf.Olmo2ForCausalLM, hf.Olmo2Config(**LLAMA), ids, (tokens,), logits, sdpa),
        ("cohere", hf.CohereForCausalLM, hf.CohereConfig(**LLAMA), ids, (tokens,), logits, eager),
        ("stablelm", hf.StableLmForCausalLM, hf.StableLmConfig(**LLAMA), ids, (tokens,), logits, eager),
        ("gpt2", hf.GPT2LMHeadModel, hf.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=99, n_positions=64, use_cache=False), ids, (tokens,), logits, eager),
        ("gpt2_sdpa", hf.GPT2LMHeadModel, hf.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=99, n_positions=64, use_cache=False), ids, (tokens,), logits, sdpa),
        ("gpt_neo_local_attention", hf.GPTNeoForCausalLM, hf.GPTNeoConfig(hidden_size=32, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]], window_size=4, vocab_size=99, max_position_embeddings=64, intermediate_size=48, use_cache=False), ids, (tokens,), logits, eager),
        ("gpt_neox", hf.GPTNeoXForCausalLM, hf.GPTNeoXConfig(**BERT), ids, (tokens,), logits, eager),
        ("gptj_interleaved_rope", hf.GPTJForCausalLM, hf.GPTJConfig(n_embd=32, n_layer=2, n_head=4, rotary_dim=4, vocab_size=99, n_positions=64, use_cache=False), ids, (tokens,), logits, eager),
        ("opt", hf.OPTForCausalLM, hf.OPTConfig(hidden_size=32, ffn_dim=48, num_hidden_layers=2, num_attention_heads=4, vocab_size=99, max_position_embeddings=64, word_embed_proj_dim=32, use_cache=False), ids, (tokens,), logits, eager),
        ("bloom_alibi", hf.BloomForCausalLM, hf.BloomConfig(hidden_size=32, n_layer=2, n_head=4, vocab_size=99, use_cache=False), ids, (tokens,), logits, eager),
        ("mpt_alibi", hf.MptForCausalLM, hf.MptConfig(d_model=32, n_layers=2, n_heads=4, vocab_size=99, max_seq_len=64, use_cache=False), ids, (tokens,), logits, eager),
        ("falcon", hf.FalconForCausalLM, hf.FalconConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, vocab_size=99, use_cache=False), ids, (tokens,), logits, eager),
        ("mamba", hf.MambaForCausalLM, hf.MambaConfig(hidden_size=32, num_hidden_layers=2, state_size=4, vocab_size=99, use_cache=False), ids, (tokens,), logits, eager),
        ("bert", hf.BertModel, hf.BertConfig(**BERT), ids, (tokens,), ["last_hidden_state", "pooler_output"], sdpa),
        ("bert_padded", hf.BertForMaskedLM, hf.BertConfig(**BERT), masked, (tokens, padding), logits, eager),
        ("roberta", hf.RobertaForMaskedLM, hf.RobertaConfig(**BERT), ids, (tokens,), logits, sdpa),
        ("distilbert", hf.DistilBertForMaskedLM, hf.DistilBertConfig(dim=32, n_layers=2, n_heads=4, hidden_dim=48, vocab_size=99, max_position_embeddings=64), ids, (tokens,), logits, eager),
        ("electra", hf.ElectraForPreTraining, hf.ElectraConfig(**BERT, embedding_size=16), ids, (tokens,), logits, sdpa),
        ("albert_shared_layers", hf.AlbertModel, hf.AlbertConfig(**SMALL, max_position_embeddings=64, embedding_size=16), ids, (tokens,), hidden, sdpa),
        ("deberta_v2_relative", hf.DebertaV2Model, hf.DebertaV2Config(**SMALL, max_position_embeddings=64, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=8, max_relative_positions=16), ids, (tokens,), hidden, eager),
        ("t5", hf.T5ForConditionalGeneration, hf.T5Config(d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, vocab_size=99, use_cache=False), ["input_ids", "decoder_input_ids"], (tokens, target), logits, eager),
        ("t5_encoder_gated", hf.T5EncoderModel, hf.T5Config(d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, vocab_size=99, feed_forward_proj="gated-gelu"), ids, (tokens,), hidden, eager),
        ("bart", hf.BartForConditionalGeneration, hf.BartConfig(d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, vocab_size=99, max_position_embeddings=64, use_cache=False), ["input_ids", "decoder_input_ids"], (tokens, target), logits, sdpa),
        ("vit", hf.ViTModel, hf.ViTConfig(**VISION), pixels, (image,), ["last_hidden_state", "pooler_output"], sdpa),
        ("vit_eager", hf.ViTForImageClassification, hf.ViTConfig(**VISION, num_labels=7), pixels, (image,), logits, eager),
        ("dinov2", hf.Dinov2Model, hf.Dinov2Config(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, image_size=28, patch_size=7), pixels, (image[:, :, :28, :28],), hidden, sdpa),
        ("swin", hf.SwinModel, hf.SwinConfig(image_size=32, patch_size=2, embed_dim=12, depths=[2, 2], num_heads=[2, 4], window_size=4), pixels, (image,), hidden, eager),
        ("swin_v2", hf.Swinv2Model, hf.Swinv2Config(image_size=32, patch_size=2, embed_dim=12, depths=[2, 2], num_heads=[2, 4], window_size=4), pixels, (image,), hidden, eager),
        ("convnext", hf.ConvNextModel, hf.ConvNextConfig(hidden_sizes=[8, 12, 16, 20], depths=[1, 1, 1, 1]), pixels, (image,), hidden, eager),
        ("resnet", hf.ResNetModel, hf.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1]), pixels, (image,), ["pooler_output"], eager),
        ("segformer", hf.SegformerForSemanticSegmentation, hf.SegformerConfig(hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 2], decoder_hidden_size=16, num_labels=5), pixels, (image,), logits, eager),
        ("clip_text", hf.CLIPTextModel, hf.CLIPTextConfig(**SMALL, max_position_embeddings=64, eos_token_id=98, bos_token_id=1, pad_token_id=0), ids, (tokens,), hidden, sdpa),
        ("clip_vision", hf.CLIPVisionModel, hf.CLIPVisionConfig(**VISION), pixels, (image,), ["last_hidden_state", "pooler_output"], eager),
        ("siglip_vision", hf.SiglipVisionModel, hf.SiglipVisionConfig(**VISION), pixels, (image,), ["last_hidden_state", "pooler_output"], sdpa),
        ("whisper_encoder", hf.models.whisper.modeling_whisper.WhisperEncoder, hf.WhisperConfig(d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=48, num_mel_bins=10, max_source_positions=20), ["input_features"], (torch.randn(2, 10, 40, generator=generator),), hidden, sdpa),
        ("wav2vec2", hf.Wav2Vec2Model, hf.Wav2Vec2Config(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, conv_dim=(8, 8, 8), conv_kernel=(10, 3, 2), conv_stride=(5, 2, 2), num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4), ["input_values"], (torch.randn(2, 400, generator=generator),), hidden, eager),
    ]
    for name, model, config, names, inputs, outputs, attention in table:
        yield Case(name, Outputs(build(model, config, attention), names, outputs), inputs, eval=True)
