"""The tokenizer: byte-level BPE trained on the corpus. Digits are tokens of their own, as numbers are copied."""

import os

PAD, END = "<pad>", "<end>"


def train(texts, size):
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    made = Tokenizer(models.BPE())
    # A word with the punctuation before it, a digit, a line's end with the indentation after it.
    pieces = Regex(r"\n *|\d|[^\w\n]*[A-Za-z_]+|[^\w\n]+")
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(pieces, "isolated"),
                                                  pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=size, special_tokens=[PAD, END], show_progress=False,
                                                        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return made


def wrapped(made):
    """As transformers and TRL take it; prompts are padded on the left."""
    from transformers import PreTrainedTokenizerFast
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token=PAD, eos_token=END, padding_side="left")


def load(folder):
    from tokenizers import Tokenizer
    return wrapped(Tokenizer.from_file(os.path.join(folder, "tokenizer.json")))
