import torch
from transformers import BertConfig, BertModel


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = BertModel(BertConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                                         vocab_size=50, max_position_embeddings=16))

    def forward(self, input_ids, attention_mask=None, token_type_ids=None):
        return self.bert(input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)


def get_init_inputs():
    return []


def get_inputs():
    mask = torch.ones(2, 6, dtype=torch.int64)
    mask[1, 4:] = 0
    return {"attention_mask": mask, "input_ids": torch.randint(0, 50, (2, 6))}
