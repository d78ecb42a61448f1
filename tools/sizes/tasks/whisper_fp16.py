import torch
import torch.nn as nn
import transformers


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.model = (
            transformers.models.whisper.modeling_whisper.WhisperEncoder(
                transformers.WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536)
            )
            .eval()
            .half()
        )

    def forward(self, x):
        return self.model(x).last_hidden_state


def get_init_inputs():
    return []


def get_inputs(batch=4):
    return [torch.randn(batch, 80, 3000, dtype=torch.float16)]


def get_dynamic_shapes():
    return {"x": {0: ("batch", 1, 16)}}
