"""The model card: what a trained model is, what it was made from, and how to use it."""

import math
import re
from dataclasses import dataclass

from model.config import GPTConfig, parameter_shapes
from model.corpus import Corpus
from model.train import TrainingPlan

SAMPLE_LENGTH = 300  # characters
SAMPLE_TEMPERATURE = 0.8


@dataclass(frozen=True)
class TrainingRecord:
    """How a model came about, and what it came to."""

    corpus: Corpus
    source: str | None  # where the text is from, in the words of who trained on it
    plan: TrainingPlan
    command: str
    validation_loss: float  # nats per character
    sample: str


def model_card(name: str, record: TrainingRecord) -> str:
    """The README.md of a model directory, with the front matter that the Hugging Face Hub reads."""
    return f"""---
library_name: transformers
pipeline_tag: text-generation
tags:
- gpt2
- character-level
---

# {name}

A GPT-2 that reads and writes single characters, trained with kvtui on one text.

## Architecture

{_architecture(record.plan.config)}

## Data

{_data(record)}

## Training

{_fenced(record.command)}

{_training(record)}

## Sample

{SAMPLE_LENGTH} characters at temperature {SAMPLE_TEMPERATURE}, seed {record.plan.seed}, after the first
character of the text:

{_fenced(record.sample)}

## Use

{_use(name)}
"""


def count_parameters(config: GPTConfig) -> int:
    """Numbers that are learned; the output head is the token embedding and not counted twice."""
    return sum(math.prod(shape) for shape in parameter_shapes(config).values())


def _architecture(config: GPTConfig) -> str:
    return _table(
        {
            "layers": config.n_layer,
            "heads": config.n_head,
            "width": config.n_embd,
            "positions": config.block_size,
            "characters": config.vocab_size,
            "parameters": count_parameters(config),
        }
    )


def _data(record: TrainingRecord) -> str:
    corpus = record.corpus
    rows: dict[str, object] = {
        "file": f"`{corpus.name}`",
        "size in bytes": corpus.nbytes,
        "characters": corpus.characters,
        "sha256": f"`{corpus.sha256}`",
    }
    if record.source:
        rows["source"] = record.source.replace("|", "\\|").replace("\n", " ")
    return _table(rows) + (
        "\n\nThe first 90 % of the characters were trained on; the last 10 % were held back to validate."
    )


def _training(record: TrainingRecord) -> str:
    plan, loss = record.plan, record.validation_loss
    table = _table(
        {
            "steps": plan.steps,
            "sequences in a step": plan.batch_size,
            "learning rate": f"{plan.learning_rate:g}, down to {plan.final_learning_rate:g}",
            "warm-up steps": plan.warmup_steps,
            "weight decay": f"{plan.weight_decay:g}",
            "dropout": f"{plan.dropout:g}",
            "seed": str(plan.seed),
            "validation loss, nats per character": f"{loss:.4f}",
            "validation loss, bits per character": f"{loss / math.log(2):.4f}",
        }
    )
    return table + (
        f"\n\nThe validation loss is over consecutive windows of {plan.config.block_size} characters, "
        "so it holds predictions with little context as well."
    )


def _use(name: str) -> str:
    return f"""```
kvtui --model {name}
```

```python
from model import GPT
gpt = GPT.load("{name}")
```

```python
from transformers import GPT2LMHeadModel
gpt = GPT2LMHeadModel.from_pretrained("{name}")
```

`vocab.json` maps each character to its token id; there is no other tokenizer."""


def _table(rows: dict[str, object]) -> str:
    cells = {k: f"{v:,}" if isinstance(v, int) else v for k, v in rows.items()}
    return "\n".join(["| | |", "| --- | --- |", *(f"| {key} | {value} |" for key, value in cells.items())])


def _fenced(text: str) -> str:
    """A code block; its fence is longer than any run of backticks within."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
