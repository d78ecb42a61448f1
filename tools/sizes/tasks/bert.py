import torch
import torch.nn as nn
import transformers


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.model = transformers.BertModel(transformers.BertConfig(max_position_embeddings=2048)).eval()

    def forward(self, ids):
        return self.model(ids).last_hidden_state


def get_init_inputs():
    return []


def get_inputs(batch=4, length=128):
    return [torch.randint(0, 30000, (batch, length))]


def get_dynamic_shapes():
    return {"ids": {0: ("batch", 1, 16), 1: ("length", 1, 2048)}}
