#!/usr/bin/env python3
"""from_gguf.py FILE.gguf FOLDER: a GGUF file as a folder of transformers in bfloat16, which can be trained and carried.

Needs transformers, gguf and accelerate. A model that transformers reads from a GGUF file is marked as quantised and can
be neither saved nor trained as it is: its weights go into a fresh one, with embedding and head tied as the model says.
"""

import os
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, file = os.path.split(os.path.abspath(sys.argv[1]))
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file)
    packed = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32)
    weights, config = packed.state_dict(), packed.config
    embedding, head = weights["model.embed_tokens.weight"], weights.get("lm_head.weight")
    config.tie_word_embeddings = head is None or torch.equal(embedding, head)
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.load_state_dict({name: weight.to(torch.bfloat16) for name, weight in weights.items()}, strict=False)
    model.tie_weights()
    model.save_pretrained(sys.argv[2])
    tokenizer.save_pretrained(sys.argv[2])
    print(f"{sys.argv[2]}: {sum(each.numel() for each in model.parameters()):,} parameters, tied {config.tie_word_embeddings}")


if __name__ == "__main__":
    main()
