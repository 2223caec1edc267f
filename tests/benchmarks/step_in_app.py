"""Does the screen slow down the steps that it shows? python tests/benchmarks/step_in_app.py

Runs the bundled model from the prompt to its limit, again and again in turns: in a loop without a
screen, and in the app in a terminal of its own (a pty of 120 x 40), running at its default speed. Both
times are the session's own readings of the clock. Prints medians and their ratio.
"""

import json
import runpy
import statistics
import sys
import tempfile
from pathlib import Path

from kvtui.app import KvtuiApp
from kvtui.loading import load_model, load_tokenizer
from kvtui.machine import single_blas_thread
from kvtui.prompts import DEFAULT_PROMPT
from kvtui.session import Session
from model.gpt import GPT

ROUNDS = 5


def new_session(gpt: GPT) -> Session:
    return Session(gpt, load_tokenizer(None, gpt), DEFAULT_PROMPT)


def step_seconds(session: Session) -> list[float]:
    return [step.seconds for step in session.snapshot().steps if not step.recomputed]


def headless(gpt: GPT) -> list[float]:
    session = new_session(gpt)
    while session.length < session.window_full_at:
        session.step()
    return step_seconds(session)


class RunToTheLimit(KvtuiApp):
    """Starts running at once, and quits when the window is full."""

    def on_mount(self) -> None:
        self.action_run()
        self.set_interval(0.1, self._quit_at_the_limit)

    def _quit_at_the_limit(self) -> None:
        if self.snapshot.length >= self.snapshot.window_full_at:
            self.exit()


def in_turns(report: Path) -> None:
    """The measurement itself, in a process whose standard streams are the pty."""
    gpt = load_model(None, "float64")
    alone: list[float] = []
    on_screen: list[float] = []
    with single_blas_thread():
        for _ in range(ROUNDS):
            alone += headless(gpt)
            app = RunToTheLimit(new_session(gpt))
            app.run()
            on_screen += step_seconds(app.session)
    report.write_text(json.dumps({"headless": alone, "in the app": on_screen}))


def main() -> None:
    if len(sys.argv) > 1:
        in_turns(Path(sys.argv[1]))
        return
    report = Path(tempfile.mkdtemp()) / "report.json"
    helper = Path(__file__).parents[1] / "kvtui" / "terminal.py"
    terminal = runpy.run_path(str(helper))["Terminal"](Path(__file__).resolve(), report)
    status, _ = terminal.end(seconds=600)
    terminal.close()
    if status:
        sys.exit(f"the measurement failed with exit status {status}:\n{terminal.text}")
    seconds = json.loads(report.read_text())
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    for name, median in medians.items():
        print(f"{name:<12} median {median * 1e3:.3f} ms of {len(seconds[name])} cached steps")
    print(f"ratio {medians['in the app'] / medians['headless']:.2f}")


if __name__ == "__main__":
    main()
