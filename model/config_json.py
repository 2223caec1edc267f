"""A `GPTConfig` as the config.json of a Hugging Face GPT-2 directory, and back."""

import json
from pathlib import Path
from typing import Any

from model.config import GPTConfig
from model.files import read_json

# GPT-2's names for our fields.
FIELD_NAMES = {
    "n_layer": "n_layer",
    "n_head": "n_head",
    "n_embd": "n_embd",
    "n_positions": "block_size",
    "vocab_size": "vocab_size",
    "n_inner": "n_inner",
    "layer_norm_epsilon": "layer_norm_epsilon",
}

MOST_LAYERS = 10_000  # more would take minutes to list, before a file shows that they are not there

# GPT-2's own defaults, which older versions of transformers leave out of the file.
DEFAULTS = {
    "n_layer": 12,
    "n_head": 12,
    "n_embd": 768,
    "n_positions": 1024,
    "vocab_size": 50257,
    "n_inner": None,
    "layer_norm_epsilon": 1e-5,
}

# Options that change the forward pass, with the values under which it is ours.
IMPLEMENTED: dict[str, tuple[Any, ...]] = {
    "model_type": ("gpt2",),
    "activation_function": ("gelu_new", "gelu_pytorch_tanh"),  # two names of one formula
    "scale_attn_weights": (True,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "reorder_and_upcast_attn": (False,),
    "add_cross_attention": (False,),
    "is_decoder": (False, True),
    "is_encoder_decoder": (False,),
    "tie_word_embeddings": (True,),
    "chunk_size_feed_forward": (0,),
    "cross_attention_hidden_size": (None,),
    "tie_encoder_decoder": (False,),
    "torchscript": (False,),
    "use_bfloat16": (False,),
    "pruned_heads": ({}, None),
    "quantization_config": (None,),
}

# What has no part in a forward pass: training, other heads, how transformers returns and generates.
WITHOUT_EFFECT = frozenset(
    """
    _name_or_path _attn_implementation_autoset architectures transformers_version dtype torch_dtype
    n_ctx use_cache output_attentions output_hidden_states output_past return_dict
    return_dict_in_generate attn_pdrop embd_pdrop resid_pdrop initializer_range gradient_checkpointing
    bos_token_id eos_token_id pad_token_id sep_token_id decoder_start_token_id prefix tokenizer_class
    summary_activation summary_first_dropout summary_proj_to_labels summary_type summary_use_proj
    id2label label2id num_labels problem_type finetuning_task task_specific_params tf_legacy_loss
    max_length min_length do_sample early_stopping num_beams num_beam_groups diversity_penalty
    temperature top_k top_p typical_p repetition_penalty length_penalty no_repeat_ngram_size
    encoder_no_repeat_ngram_size bad_words_ids num_return_sequences output_scores forced_bos_token_id
    forced_eos_token_id remove_invalid_values exponential_decay_length_penalty suppress_tokens
    begin_suppress_tokens
    """.split()
)


def read_config(path: Path) -> GPTConfig:
    """Read a config.json. Raises ValueError for one that is not a GPT-2 that we implement.

    Every option is either implemented, known to have no effect here, or refused by name.
    """
    options = read_json(path)
    if not isinstance(options, dict):
        raise ValueError(f"{path} must hold a JSON object, not a {type(options).__name__}")
    if "model_type" not in options:
        raise ValueError(f'{path} names no model_type; a GPT-2 model says "model_type": "gpt2"')
    for name, value in options.items():
        if name in IMPLEMENTED:
            allowed = IMPLEMENTED[name]
            if not any(value == a and type(value) is type(a) for a in allowed):
                only = " or ".join(map(json.dumps, allowed))
                raise ValueError(f"{path}: {name} = {_shown(value)} is not implemented, only {only}")
        elif name in FIELD_NAMES:
            if isinstance(value, list | dict):
                raise ValueError(f"{path}: {name} must be a number, not {_shown(value)}")
        elif name not in WITHOUT_EFFECT:
            raise ValueError(f"{path}: the option {_cut(name)} is not one of GPT-2's that we know")
    if type(options.get("n_layer")) is int and options["n_layer"] > MOST_LAYERS:
        raise ValueError(f"{path}: n_layer = {options['n_layer']:,} is more than {MOST_LAYERS:,}")
    fields: dict[str, Any] = {ours: options.get(name, DEFAULTS[name]) for name, ours in FIELD_NAMES.items()}
    try:
        return GPTConfig(**fields)
    except ValueError as error:
        raise ValueError(f"{path}: {_cut(str(error))}") from None


def _shown(value: Any) -> str:
    """A value, for a message: not all of what is long, and nothing of what may be nested."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return _cut(json.dumps(value))


def _cut(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:120]}..."


def config_json(config: GPTConfig) -> str:
    """The text of a config.json that transformers reads as the same model."""
    options = {name: getattr(config, ours) for name, ours in FIELD_NAMES.items()}
    options |= {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "activation_function": "gelu_new",
        "tie_word_embeddings": True,
        # Characters have no beginning and no end of text; GPT-2's default ids lie outside V.
        "bos_token_id": None,
        "eos_token_id": None,
        "dtype": "float32",
    }
    return json.dumps(options, indent=2) + "\n"
