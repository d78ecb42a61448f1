import torch
import torch.nn as nn
import transformers


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.model = (
            transformers.LlamaModel(
                transformers.LlamaConfig(
                    hidden_size=1024,
                    intermediate_size=2816,
                    num_hidden_layers=8,
                    num_attention_heads=16,
                    num_key_value_heads=4,
                    vocab_size=32000,
                    use_cache=False,
                    max_position_embeddings=4096,
                )
            )
            .eval()
            .bfloat16()
        )

    def forward(self, ids):
        return self.model(ids).last_hidden_state


def get_init_inputs():
    return []


def get_inputs(batch=2, length=256):
    return [torch.randint(0, 30000, (batch, length))]


def get_dynamic_shapes():
    return {"ids": {0: ("batch", 1, 16), 1: ("length", 1, 2048)}}
