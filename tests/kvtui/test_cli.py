"""The command line as a whole: options, statuses, and one line for whatever is wrong."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import kvtui as package
from kvtui import cli
from kvtui.commands import generate, verify

HOME = Path(package.__file__).parent.parent


def start(*argv, cwd, **options):
    """A process that finds this kvtui, from whatever folder."""
    environment = {**os.environ, "PYTHONPATH": str(HOME)}
    command = [sys.executable, *map(str, argv)]
    return subprocess.Popen(command, cwd=cwd, env=environment, text=True, encoding="utf-8", **options)


def finish(*argv, cwd):
    process = start(*argv, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_the_version_is_printed(kvtui):
    assert kvtui("--version") == (0, f"kvtui {package.__version__}\n", "")
    assert kvtui("verify", "--version") == (0, f"kvtui {package.__version__}\n", "")


def test_help_names_every_command(kvtui):
    status, out, err = kvtui("--help")
    assert (status, err) == (0, "")
    assert all(f"\n    {name} " in out for name in cli.COMMANDS)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help(kvtui, name):
    status, out, _ = kvtui(name, "--help")
    assert status == 0
    assert "--dtype" in out


HEAVY = ("numpy", "rich", "textual", "plotext", "safetensors")


def test_help_loads_nothing_heavy_and_headless_commands_no_textual(tmp_path, model_dir):
    code = f"""
import sys
from kvtui.cli import main
main(["--help"])
main(["--version"])
assert not set({HEAVY}) & set(sys.modules), "help"
main(["generate", "abc", "-n", "2", "--model", {str(model_dir)!r}])
main(["verify", "--model", {str(model_dir)!r}])
main(["slide", "--prompt", "abc", "--model", {str(model_dir)!r}])
main(["train", "nothing.txt", "--out", "nowhere"])
assert not {{"textual", "plotext"}} & set(sys.modules), "headless"
"""
    status, _, err = finish("-c", code, cwd=tmp_path)
    assert status == 0, err


@pytest.mark.parametrize("before", [True, False])
def test_common_options_stand_before_or_behind_the_command(kvtui, model_dir, before):
    common = ["--model", model_dir, "--dtype", "float32", "--seed", "3", "--json"]
    command = ["generate", "abc", "-n", "5", "--temperature", "1"]
    status, out, _ = kvtui(*common, *command) if before else kvtui(*command, *common)
    seeded, unseeded = (
        kvtui("--model", model_dir, *command, "--json", *seed).out for seed in (["--seed", "3"], [])
    )
    assert status == 0
    assert json.loads(out)["tokens"] == json.loads(seeded)["tokens"] != json.loads(unseeded)["tokens"]


def test_a_common_option_behind_the_command_wins(kvtui, model_dir):
    options = ["--model", model_dir, "--json"]
    tolerances = [
        json.loads(kvtui(*options, "--dtype", first, "verify", "--dtype", second).out)["tolerance"]
        for first, second in (("float32", "float64"), ("float64", "float32"))
    ]
    assert tolerances[0] < tolerances[1]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["nonsense"], "generate"),
        (["generate"], "PROMPT"),
        (["--prompt", "abc", "generate", "abc"], "--prompt before a command"),
        (["--ascii", "verify"], "--ascii before a command"),
        (["generate", "abc", "--nonsense"], "--nonsense"),
        (["generate", "abc", "--temp", "1"], "--temp"),
        (["generate", "abc", "-n", "-1"], "whole number from 0"),
        (["generate", "abc", "-n", "many"], "whole number from 0"),
        (["generate", "abc", "-n", "1.5"], "whole number from 0"),
        (["generate", "abc", "-n", "9" * 5000], "whole number from 0"),
        (["generate", "abc", "--temperature", "-0.1"], "at least 0"),
        (["generate", "abc", "--temperature", "nan"], "at least 0"),
        (["generate", "abc", "--temperature", "inf"], "at least 0"),
        (["generate", "abc", "--top-k", "0"], "whole number from 1"),
        (["slide", "--steps", "-1"], "whole number from 0"),
        (["verify", "--dtype", "float16"], "float32"),
        (["verify", "--seed", "-1"], "whole number from 0"),
        (["verify", "a\nb\x1b[31m"], "a\\nb\\x1b[31m"),
        (["train", "text.txt"], "--out"),
        (["train", "text.txt", "--out", "x", "--dropout", "1"], "below 1"),
        (["train", "text.txt", "--out", "x", "--learning-rate", "0"], "above 0"),
        (["train", "text.txt", "--out", "x", "--steps", "0"], "whole number from 1"),
    ],
)
def test_a_bad_call_is_one_line(refused, argv, said):
    assert said in refused(*argv)


def test_ctrl_c_is_one_line_and_status_130(kvtui, model_dir, monkeypatch):
    monkeypatch.setattr(verify, "exactness", lambda *_: signal.raise_signal(signal.SIGINT))
    status, out, err = kvtui("verify", "--model", model_dir, "--json")
    assert (status, out, err) == (130, "", "kvtui: interrupted\n")


def test_no_memory_is_one_line(refused, model_dir, monkeypatch):
    def fail(*_):
        raise MemoryError("Unable to allocate 8 TiB")

    monkeypatch.setattr(generate, "generate", fail)
    assert "8 TiB" in refused("--json", "generate", "abc", "--model", model_dir)


def test_a_bug_is_not_dressed_up(kvtui, model_dir, monkeypatch):
    def fail(*_):
        raise ValueError("a bug")

    monkeypatch.setattr(generate, "generate", fail)
    with pytest.raises(ValueError, match="a bug"):
        kvtui("generate", "abc", "--model", model_dir)


def test_a_closed_pipe_is_quiet(tmp_path, model_dir):
    process = start(
        *("-m", "kvtui", "generate", "abc", "-n", "10000000", "--model", model_dir),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.read(10)
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(timeout=60), err) == (141, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_a_full_disk_behind_standard_output_is_one_line(tmp_path, model_dir):
    with open("/dev/full", "w") as full:
        process = start(
            *("-m", "kvtui", "generate", "abc", "--json", "--model", model_dir),
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
        )
        err = process.communicate(timeout=60)[1]
    assert (process.returncode, err.count("\n")) == (2, 1)
    assert err.startswith("kvtui: error: ")


def test_it_runs_in_a_folder_with_a_model_py_of_its_own(tmp_path, model_dir):
    for name in ("model.py", "argparse.py", "numpy.py"):
        (tmp_path / name).write_text("raise SystemExit('the wrong module')\n")
    status, out, err = finish(
        *("-m", "kvtui", "generate", "abc", "-n", "1", "--json", "--model", model_dir), cwd=tmp_path
    )
    assert status == 0, err
    assert json.loads(out)["prompt"] == "abc"
