"""Figures for people: no more digits than they deserve, and always a unit."""

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def milliseconds(seconds: float) -> str:
    """0.31 ms, 12.3 ms, 123 ms, 1.23 s."""
    ms = seconds * 1e3
    if ms >= 999.5:
        return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:,.0f} s"
    return f"{ms:.2f} ms" if ms < 9.995 else f"{ms:.1f} ms" if ms < 99.95 else f"{ms:.0f} ms"


def binary_size(n: int) -> str:
    """776 KiB, 1,024 KiB, 6.24 MiB: in the largest unit of which there are at least two."""
    unit = max(0, min(len(UNITS) - 1, (n.bit_length() - 2) // 10))
    value = n / 1024**unit
    digits = f"{value:,.3g}" if value < 1000 and value != int(value) else f"{value:,.0f}"
    return f"{digits} {UNITS[unit]}"


def percent(share: float) -> str:
    """71 %, 0.4 %, <0.1 %: whole numbers, and one decimal below one per cent."""
    if 0 < share < 0.0005:
        return "<0.1 %"
    return f"{share * 100:.1f} %" if 0 < share < 0.0095 else f"{share * 100:.0f} %"


def count(n: int, noun: str) -> str:
    """1 character, 1,024 characters."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def times(ratio: float) -> str:
    """72x, 3.4x."""
    return f"{ratio:.1f}x" if ratio < 9.95 else f"{ratio:,.0f}x"


def speed(steps_per_second: float) -> str:
    """8 steps a second; 0 is as fast as it goes."""
    noun = "step" if steps_per_second == 1 else "steps"
    return f"{steps_per_second:g} {noun} a second" if steps_per_second else "as fast as it goes"
