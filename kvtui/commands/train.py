"""`kvtui train`: a model from any text file."""

import argparse
import math
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kvtui.errors import CommandError, explain
from kvtui.machine import blas_threads
from kvtui.options import real, whole
from kvtui.output import say, write_json
from kvtui.training import train_to_end
from model.card import SAMPLE_LENGTH, SAMPLE_TEMPERATURE, TrainingRecord, count_parameters, model_card
from model.config import GPTConfig
from model.corpus import Corpus
from model.directory import FILES, write_model
from model.generate import generate
from model.gpt import GPT
from model.limit import Recompute
from model.sampling import make_sampler
from model.train import CHECKPOINT, Training, TrainingPlan
from model.weights import INDEX, WEIGHTS

MOST_PARAMETERS = 2 * 10**8  # more, and the machine may end the process for its memory, without a word


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "A checkpoint is kept in DIR until the model is done: the same command again goes on from it. "
        "With one thread the result is the same to the bit, interrupted or not. "
        f"The seed is {TrainingPlan.seed} unless --seed says otherwise. Training computes in float32."
    )
    parser.add_argument("corpus", type=Path, metavar="CORPUS", help="a text file in UTF-8")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the model goes")
    parser.add_argument("--source", metavar="TEXT", help="where the text is from, for the model card")

    def add(name: str, kind: Callable[[str], Any], default: float, description: str) -> None:
        parser.add_argument(
            name, type=kind, default=default, metavar="N", help=f"{description} (default: {default:g})"
        )

    plan, size = TrainingPlan, whole(1, 10**5)
    positive, at_least_0 = real("above 0", lambda x: x > 0), real("of at least 0", lambda x: x >= 0)
    add("--steps", whole(1), plan.steps, "training steps")
    add("--batch-size", size, plan.batch_size, "sequences in a step")
    add("--learning-rate", positive, plan.learning_rate, "at its peak; it ends at a tenth of it")
    add("--warmup-steps", whole(0), plan.warmup_steps, "steps up to the peak")
    add("--weight-decay", at_least_0, plan.weight_decay, "on matrices")
    add("--dropout", real("from 0 to below 1", lambda x: 0 <= x < 1), plan.dropout, "share dropped")
    add("--layers", size, 4, "layers")
    add("--heads", size, 4, "heads; they divide the width")
    add("--width", size, 128, "numbers in the residual stream")
    add("--block-size", size, 128, "positions")
    add("--validate-every", whole(1), 500, "steps from one validation to the next")
    add("--checkpoint-every", whole(1), 100, "steps from one checkpoint to the next")
    add("--threads", whole(1), 1, "BLAS threads")


def run(args: argparse.Namespace) -> int:
    try:
        corpus = Corpus.read(args.corpus, args.block_size)
        plan = _plan(args, len(corpus.tokenizer.characters))
    except ValueError as error:
        raise CommandError(str(error)) from None
    checkpoint = _claim(args.out)
    training = Training(plan, corpus.train_tokens, corpus.val_tokens)
    with blas_threads(args.threads):
        loss = train_to_end(training, checkpoint, args.checkpoint_every, args.validate_every)
        parameters = {name: parameter.data for name, parameter in training.parameters.items()}
        sample = _sample(plan, parameters, corpus)
    record = TrainingRecord(corpus, args.source, plan, _command(args), loss, sample)
    card = model_card(args.out.resolve().name, record)
    write_model(args.out, plan.config, parameters, corpus.tokenizer, card)
    checkpoint.unlink()
    _tell(args, record)
    return 0


def _plan(args: argparse.Namespace, vocab_size: int) -> TrainingPlan:
    config = GPTConfig(args.layers, args.heads, args.width, args.block_size, vocab_size)
    if (count := count_parameters(config)) > MOST_PARAMETERS:
        raise CommandError(
            f"{count:,} parameters are too many; at most {MOST_PARAMETERS:,} are trained here"
        )
    return TrainingPlan(
        config,
        steps=args.steps,
        batch_size=args.batch_size,
        learning_rate=args.learning_rate,
        final_learning_rate=args.learning_rate / 10,
        warmup_steps=args.warmup_steps,
        weight_decay=args.weight_decay,
        dropout=args.dropout,
        seed=TrainingPlan.seed if args.seed is None else args.seed,
    )


def _claim(directory: Path) -> Path:
    """Make the directory, and return where its checkpoint goes; refuse to write over anything."""
    checkpoint = directory / CHECKPOINT
    # Beside a checkpoint only the weights are in the way: the rest was written by a run that was
    # stopped before it wrote these.
    in_the_way = (WEIGHTS, INDEX) if checkpoint.exists() else (WEIGHTS, INDEX, *FILES)
    for name in in_the_way:
        if (directory / name).exists():
            raise CommandError(f"{directory / name} is there already; give --out a directory of its own")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"{explain(error)}; --out must be a directory, or a new one") from None
    return checkpoint


def _sample(plan: TrainingPlan, parameters: dict[str, np.ndarray], corpus: Corpus) -> str:
    """A text that the model writes after the first character of its corpus."""
    model = Recompute(GPT(plan.config, {name: p.astype(np.float64) for name, p in parameters.items()}))
    first = corpus.train_tokens[:1].tolist()
    sampler = make_sampler(SAMPLE_TEMPERATURE, seed=plan.seed)
    tokens = [generated.token for generated in generate(model, first, SAMPLE_LENGTH, sampler)]
    return corpus.tokenizer.decode(first + tokens)


def _command(args: argparse.Namespace) -> str:
    """The command as it was typed, but of each path the last part: where files lie is private."""
    paths = {args.corpus, args.out, args.model}

    def shown(argument: str) -> str:
        option, equals, value = argument.partition("=") if argument.startswith("--") else ("", "", argument)
        return option + equals + (Path(value).name or value) if Path(value) in paths else argument

    return shlex.join(["kvtui", *map(shown, args.argv)])


def _tell(args: argparse.Namespace, record: TrainingRecord) -> None:
    parameters = count_parameters(record.plan.config)
    if args.json:
        write_json(
            {
                "directory": str(args.out),
                "parameters": parameters,
                "steps": record.plan.steps,
                "validation_loss": record.validation_loss,
            }
        )
    else:
        loss = record.validation_loss
        bits = loss / math.log(2)
        say(f"{args.out}: {parameters:,} parameters, {loss:.4f} nats ({bits:.4f} bits) per character")
