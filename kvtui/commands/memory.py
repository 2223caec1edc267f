"""`kvtui memory`: what the KV cache of any model takes, beside its weights."""

import argparse
from pathlib import Path
from typing import Any

from kvtui.errors import CommandError, explain
from kvtui.figures import binary_size, count
from kvtui.options import whole
from kvtui.output import write, write_json
from model.files import read_json
from model.footprint import DTYPE_BITS, ModelShape, read_shape, sequences_that_outweigh
from model.presets import PRESETS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "bytes per token = 2 (a key and a value) x layers x KV heads x head_dim x bytes of a number. "
        "The scales of quantised caches, a few per cent, are left out."
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--preset", choices=PRESETS, help="a published model")
    which.add_argument("--config", type=Path, metavar="FILE", help="a Hugging Face config.json")
    parser.add_argument(
        "--context", type=whole(1), metavar="N", help="tokens (default: the model's positions)"
    )
    parser.add_argument("--sequences", type=whole(1), default=1, metavar="N", help="at once (default: 1)")
    parser.add_argument("--kv-dtype", choices=DTYPE_BITS, help="of the cache (default: of the weights)")
    parser.add_argument("--weights-dtype", choices=DTYPE_BITS, help="(default: as they are stored)")


def run(args: argparse.Namespace) -> int:
    shape, source = _shape(args)
    context = args.context or shape.max_positions
    if context is None:
        raise CommandError("the config names no number of positions; give --context")
    weights_dtype = args.weights_dtype or shape.dtype
    kv_dtype = args.kv_dtype or weights_dtype
    per_sequence = shape.bytes_per_sequence(context, kv_dtype)
    weights = shape.weights_bytes(weights_dtype)
    data = {
        "bytes_per_token": shape.bytes_per_token(kv_dtype),
        "bytes_per_sequence": per_sequence,
        "total_bytes": per_sequence * args.sequences,
        "weights_bytes": weights,
        "sequences_that_outweigh_weights": weights and sequences_that_outweigh(weights, per_sequence),
        "context": context,
        "sequences": args.sequences,
        "kv_dtype": kv_dtype,
        "weights_dtype": weights_dtype,
        "source": source,
    }
    if args.json:
        write_json(data)
    else:
        write(_for_people(shape, data))
    return 0


def _shape(args: argparse.Namespace) -> tuple[ModelShape, str]:
    """The model that was named, and where its sizes are from."""
    if args.preset:
        return read_shape(PRESETS[args.preset]), PRESETS[args.preset]["source"]
    options = _read(args.config)
    try:
        return read_shape(options), str(args.config)
    except ValueError as error:
        raise CommandError(f"{args.config}: {error}") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        options = read_json(path)
    except OSError as error:
        raise CommandError(f"{explain(error)}; --config takes a Hugging Face config.json") from None
    except ValueError as error:
        raise CommandError(str(error)) from None
    if not isinstance(options, dict):
        raise CommandError(f"{path}: it must hold a JSON object")
    return options


def _for_people(shape: ModelShape, data: dict[str, int]) -> str:
    size = binary_size
    windows = {window for window in shape.windows if window is not None}
    lines = [
        f"{data['source']}: {shape.n_layer} layers x {shape.n_kv_head} KV heads x {shape.head_dim} wide",
        f"per token     {data['bytes_per_token']:>17,} bytes  {size(data['bytes_per_token']):>9}  "
        f"({data['kv_dtype']})",
        f"per sequence  {data['bytes_per_sequence']:>17,} bytes  {size(data['bytes_per_sequence']):>9}  "
        f"of {data['context']:,} tokens",
        f"altogether    {data['total_bytes']:>17,} bytes  {size(data['total_bytes']):>9}  "
        f"for {data['sequences']:,} at once",
    ]
    if windows:
        lines.append(f"layers with a sliding window keep {min(windows):,} tokens")
    if data["weights_bytes"] is None:
        lines.append("weights       not counted for this family of models")
    else:
        lines += [
            f"weights       {data['weights_bytes']:>17,} bytes  {size(data['weights_bytes']):>9}  "
            f"({data['weights_dtype']})",
            f"{count(data['sequences_that_outweigh_weights'], 'such sequence')} outweigh the weights",
        ]
    return "\n".join(lines) + "\n"
