"""The two themes that come with the program; any of Textual's works as well."""

from textual.theme import Theme

DARK = Theme(
    name="kvtui-dark",
    primary="#7cc7ff",
    secondary="#7f9cf5",
    accent="#ff8f5a",
    success="#4fd6a5",
    warning="#ffb454",
    error="#ff7aa8",
    foreground="#d5d9e8",
    background="#14151f",
    surface="#1a1b27",
    panel="#20222f",
    dark=True,
)

LIGHT = Theme(
    name="kvtui-light",
    primary="#0b62b0",
    secondary="#4454c4",
    accent="#b3400f",
    success="#0a7a53",
    warning="#96600a",
    error="#b8235f",
    foreground="#20222c",
    background="#fafaf7",
    surface="#f1f1ec",
    panel="#e6e6df",
    dark=False,
)
