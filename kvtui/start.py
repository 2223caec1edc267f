"""The start of the screen: a model is loaded, a session begun, and the app run on it."""

import argparse
import os
import signal

from kvtui.app import KvtuiApp
from kvtui.curves import CurveStore
from kvtui.loading import load_model, load_tokenizer, model_at_work
from kvtui.machine import single_blas_thread
from kvtui.prompts import given_prompt
from kvtui.screens.sampling import Sampling
from kvtui.session import Session
from kvtui.settings import settings_path
from kvtui.visual import Look
from model.gpt import BUNDLED


def run_screen(args: argparse.Namespace) -> int:
    """Load a model, open the screen, and return the exit status. Raises CommandError for bad input."""
    gpt = load_model(args.model, args.dtype)
    tokenizer = load_tokenizer(args.model, gpt)
    prompt = given_prompt(tokenizer, args.screen_prompt)
    name = (args.model or BUNDLED).resolve().name
    sampling = Sampling(args.temperature, args.top_k, args.seed or 0)
    with single_blas_thread(), model_at_work():
        session = Session(gpt, tokenizer, prompt, name, sampling.sampler())
        app = app_class()(
            session,
            Look(ascii=args.screen_ascii),
            CurveStore.of_user(args.model, args.dtype),
            sampling,
            settings_path(),
            tour=args.screen_tour,
        )
        app.run()
    return app.return_code or 0


def app_class() -> type[KvtuiApp]:
    """The app as it is, for Windows and for a browser, or the one that heeds the signals of Unix."""
    if os.name != "posix" or "TEXTUAL_DRIVER" in os.environ:
        return KvtuiApp
    from kvtui.terminal import TerminalApp  # Windows lacks what it imports

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # asyncio's would leave the app half started
    return TerminalApp
