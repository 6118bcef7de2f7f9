"""Makes a Llama of about three million random parameters as one GGUF file, with nothing but the standard library.

What it writes is gibberish; what it counts is real. Usage: make-gguf.py FOLDER
"""

import itertools
import os
import random
import struct
import sys
from array import array

VOCABULARY, CONTEXT = 1024, 8192
WIDTH, LAYERS, HEADS, KV_HEADS, INNER = 256, 4, 8, 2, 704
HEAD_WIDTH = WIDTH // HEADS
ALIGNMENT = 32

# The format's own numbers: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
VERSION = 3
UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
FLOAT32_TENSOR = 0
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
ALL_FLOAT32 = 0

WORD_START = "\u2581"
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}assistant: "
)


def vocabulary():
    """Control tokens, every byte (so that any text has tokens), then letters and pairs of syllables."""
    fixed = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)]
    fixed += [(f"<0x{byte:02X}>", BYTE) for byte in range(256)]
    letters = "abcdefghijklmnopqrstuvwxyz"
    syllables = "the an in er on at en re or ti is st al ar nd to ng ed ou it".split()
    pairs = ["".join(pair) for pair in itertools.product(syllables, repeat=2)]
    words = [WORD_START, *letters, *(WORD_START + letter for letter in letters)]
    words += [WORD_START + each for each in syllables + pairs] + syllables + pairs
    return (fixed + [(word, NORMAL) for word in dict.fromkeys(words)])[:VOCABULARY]


def metadata():
    tokens = vocabulary()
    assert len(tokens) == VOCABULARY, len(tokens)
    return [
        ("general.architecture", STRING, "llama"),
        ("general.name", STRING, "random-tiny"),
        ("general.alignment", UINT32, ALIGNMENT),
        ("general.file_type", UINT32, ALL_FLOAT32),
        ("llama.context_length", UINT32, CONTEXT),
        ("llama.embedding_length", UINT32, WIDTH),
        ("llama.block_count", UINT32, LAYERS),
        ("llama.feed_forward_length", UINT32, INNER),
        ("llama.attention.head_count", UINT32, HEADS),
        ("llama.attention.head_count_kv", UINT32, KV_HEADS),
        ("llama.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5),
        ("llama.rope.dimension_count", UINT32, HEAD_WIDTH),
        ("llama.vocab_size", UINT32, VOCABULARY),
        ("tokenizer.ggml.model", STRING, "llama"),
        ("tokenizer.ggml.tokens", ARRAY, (STRING, [text for text, _ in tokens])),
        ("tokenizer.ggml.token_type", ARRAY, (INT32, [kind for _, kind in tokens])),
        # Longer words first: a higher score is merged earlier.
        ("tokenizer.ggml.scores", ARRAY, (FLOAT32, [float(len(text)) for text, _ in tokens])),
        ("tokenizer.ggml.unknown_token_id", UINT32, 0),
        ("tokenizer.ggml.bos_token_id", UINT32, 1),
        ("tokenizer.ggml.eos_token_id", UINT32, 2),
        ("tokenizer.ggml.add_bos_token", BOOL, True),
        ("tokenizer.chat_template", STRING, CHAT_TEMPLATE),
    ]


def tensors():
    """Name, shape (fastest dimension first) and values of every tensor; one seed for all."""
    source = random.Random(1)

    def noise(name, columns, rows, spread):
        values = array("f", (source.gauss(0, spread) for _ in range(columns * rows)))
        return name, (columns, rows), values

    def ones(name):
        return name, (WIDTH,), array("f", [1.0] * WIDTH)

    yield noise("token_embd.weight", WIDTH, VOCABULARY, 1.0)
    yield ones("output_norm.weight")
    yield noise("output.weight", WIDTH, VOCABULARY, 0.05)
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        yield ones(f"{block}.attn_norm.weight")
        yield noise(f"{block}.attn_q.weight", WIDTH, WIDTH, 0.02)
        yield noise(f"{block}.attn_k.weight", WIDTH, KV_HEADS * HEAD_WIDTH, 0.02)
        yield noise(f"{block}.attn_v.weight", WIDTH, KV_HEADS * HEAD_WIDTH, 0.02)
        yield noise(f"{block}.attn_output.weight", WIDTH, WIDTH, 0.02)
        yield ones(f"{block}.ffn_norm.weight")
        yield noise(f"{block}.ffn_gate.weight", WIDTH, INNER, 0.02)
        yield noise(f"{block}.ffn_up.weight", WIDTH, INNER, 0.02)
        yield noise(f"{block}.ffn_down.weight", INNER, WIDTH, 0.02)


def encode(kind, value):
    if kind == STRING:
        text = value.encode()
        return struct.pack("<Q", len(text)) + text
    if kind == ARRAY:
        element, values = value
        return struct.pack("<IQ", element, len(values)) + b"".join(encode(element, each) for each in values)
    return struct.pack({UINT32: "<I", INT32: "<i", FLOAT32: "<f", BOOL: "<?"}[kind], value)


def padded(data):
    return data + b"\0" * (-len(data) % ALIGNMENT)


def write(path):
    pairs, weights = metadata(), list(tensors())
    head = b"GGUF" + struct.pack("<IQQ", VERSION, len(weights), len(pairs))
    for key, kind, value in pairs:
        head += encode(STRING, key) + struct.pack("<I", kind) + encode(kind, value)
    offset = 0
    for name, shape, values in weights:
        head += encode(STRING, name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        head += struct.pack("<IQ", FLOAT32_TENSOR, offset)
        offset += len(padded(values.tobytes()))
    with open(path, "wb") as file:
        file.write(padded(head))
        for _, _, values in weights:
            file.write(padded(values.tobytes()))
    print(f"{sum(len(values) for _, _, values in weights):,} parameters")


if __name__ == "__main__":
    [folder] = sys.argv[1:]
    write(os.path.join(folder, "tiny.gguf"))
