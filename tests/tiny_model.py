"""A language model of a few kilobytes, made on the spot: it babbles in ASCII, and a grammar can make it say anything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

SEED = 7
WIDTH, HEADS, INNER = 64, 2, 64
CONTEXT = 512
_FIRST, _LAST = 0x20, 0x7E
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6
_NEVER, _OFTEN, _MOSTLY = -60.0, 0.4, 0.7
_CALL = "<tool_call>\n"
_TEMPLATE = """{%- if tools %}tools:
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
{% endif %}
{%- for message in messages %}
{{- message.role[0] + ':' }}
{%- if message.content %}{{ message.content }}{% endif %}
{%- if message.tool_calls %}
{%- for call in message.tool_calls %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}
{%- endif %}
{% endfor %}
{%- if add_generation_prompt %}a:{% endif %}"""


def write_tiny_model(path: Path, *, calls: bool = False, context: int = CONTEXT) -> Path:
    """Writes the model as a GGUF file; with `calls` it ends or calls a tool soon, as chance has it. Needs gguf and numpy."""
    import gguf
    import numpy as np

    pieces, kinds = _vocabulary()
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(context)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(pieces)
    writer.add_token_scores([0.0] * len(pieces))
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(_TEMPLATE)
    for name, tensor in _tensors(np, kinds, calls=calls).items():
        writer.add_tensor(name, tensor.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@contextmanager
def llama(path: Path, context: int = CONTEXT) -> Iterator[str]:
    """A llama.cpp server of this process; it ends with the block."""
    xllamacpp: Any = pytest.importorskip("xllamacpp", reason="the xllamacpp package is not installed")
    settings = xllamacpp.CommonParams()
    settings.model.path = str(path)
    settings.model_alias = {"tiny"}
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0
    settings.n_ctx, settings.n_parallel = context, 1
    settings.cpuparams.n_threads, settings.n_threads_http = 1, 2
    settings.warmup = False
    server = xllamacpp.Server(settings)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server  # that is how it is stopped


def _vocabulary() -> tuple[list[str], list[int]]:
    """Three control tokens, every byte, every letter of ASCII, and the word that begins a call."""
    letters = [chr(code) if code != _FIRST else "\u2581" for code in range(_FIRST, _LAST + 1)]
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *letters, _CALL]
    return pieces, [_UNKNOWN, _CONTROL, _CONTROL, *[_BYTE] * 256, *[_NORMAL] * len(letters), _NORMAL]


def _tensors(np: Any, kinds: list[int], *, calls: bool) -> dict[str, Any]:
    random = np.random.default_rng(SEED)

    def noise(*shape: int, scale: float = 0.5) -> Any:
        return random.normal(0, scale, shape)

    embedding = noise(len(kinds), WIDTH)
    embedding[:, 0] = 20.0  # the same for every token, so that the output's first column is a bias for each token
    output = noise(len(kinds), WIDTH, scale=0.03)  # little, so that every letter has its turn
    output[:, 0] = [0.0 if kind == _NORMAL else _NEVER for kind in kinds]
    output[2, 0] = _MOSTLY if calls else _OFTEN  # the end comes after a few dozen letters
    output[-1, 0] = _MOSTLY if calls else _NEVER
    attention, down = noise(WIDTH, WIDTH, scale=0.1), noise(WIDTH, INNER, scale=0.1)
    attention[0], down[0] = 0.0, 0.0  # nothing changes the constant
    block = "blk.0."
    return {
        "token_embd.weight": embedding,
        "output_norm.weight": np.ones(WIDTH),
        "output.weight": output,
        block + "attn_norm.weight": np.ones(WIDTH),
        block + "ffn_norm.weight": np.ones(WIDTH),
        block + "attn_q.weight": noise(WIDTH, WIDTH),
        block + "attn_k.weight": noise(WIDTH, WIDTH),
        block + "attn_v.weight": noise(WIDTH, WIDTH),
        block + "attn_output.weight": attention,
        block + "ffn_gate.weight": noise(INNER, WIDTH),
        block + "ffn_up.weight": noise(INNER, WIDTH),
        block + "ffn_down.weight": down,
    }
