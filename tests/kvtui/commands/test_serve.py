"""`kvtui serve` serves this machine alone."""

import sys
from types import ModuleType, SimpleNamespace

import pytest


@pytest.fixture
def served(monkeypatch):
    """What a server was asked to do, which is not really started."""
    calls = []

    def server(command, **options):
        return SimpleNamespace(serve=lambda: calls.append((command, options)))

    module = ModuleType("textual_serve.server")
    module.Server = server
    monkeypatch.setitem(sys.modules, "textual_serve", ModuleType("textual_serve"))
    monkeypatch.setitem(sys.modules, "textual_serve.server", module)
    return calls


def test_it_serves_the_loopback_address_alone(kvtui, served, tmp_path):
    model = tmp_path / "a model"
    assert kvtui("serve", "--port", "8123", "--model", model, "--dtype", "float32").status == 0
    ((command, options),) = served
    assert (options["host"], options["port"]) == ("127.0.0.1", 8123)
    assert f"'{model}'" in command
    assert "float32" in command


def test_without_the_package_it_says_what_to_install(refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    assert "kvtui[web]" in refused("serve")
