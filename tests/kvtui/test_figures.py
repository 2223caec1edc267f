"""Figures have a unit and no more digits than they deserve."""

import pytest

from kvtui.figures import binary_size, milliseconds, percent, times


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.00 ms"),
        (0.00031, "0.31 ms"),
        (0.009994, "9.99 ms"),
        (0.009996, "10.0 ms"),
        (0.0123, "12.3 ms"),
        (0.09996, "100 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1 s"),
        (1.234, "1.23 s"),
        (1234.5, "1,234 s"),
    ],
)
def test_milliseconds(seconds, text):
    assert milliseconds(seconds) == text


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (0, "0 bytes"),
        (1536, "1,536 bytes"),
        (8192, "8 KiB"),
        (2**20, "1,024 KiB"),
        (776 * 1024, "776 KiB"),
        (6_544_384, "6.24 MiB"),
        (16_777_216, "16 MiB"),
        (2 * 2**30, "2 GiB"),
        (5 * 2**40, "5 TiB"),
    ],
)
def test_sizes_are_in_binary_units(n, text):
    assert binary_size(n) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (0.004, "0.4 %"), (0.0094, "0.9 %"), (0.0099, "1 %"), (0.712, "71 %"), (1, "100 %")],
)
def test_percent(share, text):
    assert percent(share) == text


@pytest.mark.parametrize(("ratio", "text"), [(3.44, "3.4x"), (9.96, "10x"), (1234.5, "1,234x")])
def test_times(ratio, text):
    assert times(ratio) == text
