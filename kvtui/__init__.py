"""kvtui: a microscope for the KV cache, in a terminal. The engine is the package `model`."""

__version__ = "0.1.0"
