"""Makes a Llama of about five million random parameters with a tokenizer and a chat template.

What it writes is gibberish; what it counts is real. Usage: make-model.py FOLDER
"""

import sys
from pydoc_data import topics

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

VOCABULARY = 4096
CONTEXT = 2048
BEGIN, END, PADDING, OPEN, CLOSE = "<|begin|>", "<|end|>", "<|padding|>", "<|open|>", "<|close|>"
SPECIAL = [BEGIN, END, PADDING, OPEN, CLOSE]
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "<|open|>{{ message.role }}\n{{ message.content }}<|close|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|open|>assistant\n{% endif %}"
)


def train_tokenizer():
    """Byte-level BPE over the largest English text that every Python brings: its own manual."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=SPECIAL,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(topics.topics.values(), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A", special_tokens=[(BEGIN, SPECIAL.index(BEGIN))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=BEGIN,
        eos_token=END,
        pad_token=PADDING,
        chat_template=CHAT_TEMPLATE,
        model_max_length=CONTEXT,
    )


def make_model(tokenizer):
    assert len(tokenizer) == VOCABULARY, len(tokenizer)
    ends = {
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        max_position_embeddings=CONTEXT,
        hidden_size=256,
        intermediate_size=688,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=4,
        # Five times the usual spread: with less, every token is about as likely as any other.
        initializer_range=0.1,
        dtype="float32",
        **ends,
    )
    torch.manual_seed(1)
    model = LlamaForCausalLM(config)
    model.generation_config = GenerationConfig(**ends)
    return model


if __name__ == "__main__":
    [folder] = sys.argv[1:]
    made_tokenizer = train_tokenizer()
    made_tokenizer.save_pretrained(folder)
    made = make_model(made_tokenizer)
    made.save_pretrained(folder)
    print(f"{made.num_parameters():,} parameters")
