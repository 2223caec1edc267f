"""Make the pictures in this folder anew: python screenshots/make.py

Each is the real app, driven by keys, its figures measured on the machine that makes it.
"""

import asyncio
import re
from pathlib import Path

from kvtui.app import KvtuiApp
from kvtui.curves import CurveStore
from kvtui.loading import load_model, load_tokenizer
from kvtui.machine import single_blas_thread
from kvtui.prompts import DEFAULT_PROMPT
from kvtui.session import Session

HERE = Path(__file__).parent
LARGE, SMALL = (120, 40), (80, 24)

# name: size, theme, keys
PICTURES = {
    "start": (LARGE, "kvtui-dark", []),
    "running": (LARGE, "kvtui-dark", ["u", *["space"] * 60]),
    "at-the-limit": (LARGE, "kvtui-dark", ["u", "l"]),
    "naive-slide": (LARGE, "kvtui-dark", ["u", "l", "n", *["space"] * 40]),
    "light": (LARGE, "kvtui-light", ["u", "l", "n", *["space"] * 12]),
    "small": (SMALL, "kvtui-dark", ["l", "n", *["space"] * 8]),
    "small-times": (SMALL, "kvtui-dark", ["u", "l", *["space"] * 8, "v"]),
    "ansi": (SMALL, "ansi-dark", ["l", "n", *["space"] * 8]),
    "inspector": (LARGE, "kvtui-dark", [*["space"] * 60, "i", "up", "up", "h"]),
    "policies": (LARGE, "kvtui-dark", ["l", "d", *["space"] * 60]),
    "faults": (LARGE, "kvtui-dark", [*["space"] * 60, "f", *["down"] * 7, "enter"]),
    "tour": (LARGE, "kvtui-dark", ["t", "enter", "enter"]),
    "help": (LARGE, "kvtui-dark", ["question_mark"]),
}


async def picture(size: tuple[int, int], theme: str, keys: list[str]) -> str:
    gpt = load_model(None, "float64")
    session = Session(gpt, load_tokenizer(None, gpt), DEFAULT_PROMPT, "shakespeare")
    app = KvtuiApp(session, curve_store=CurveStore.of_user(None, "float64"))
    app.theme = theme
    async with app.run_test(size=size) as pilot:
        for key in keys:
            await pilot.press(key)
            await app.settled()
        while app.measuring:
            await pilot.pause(0.5)
        await pilot.pause(0.5)  # the chart is drawn last
        return app.export_screenshot(title="kvtui")


def self_contained(svg: str) -> str:
    """Without the web fonts, which a README's viewer would not load anyway."""
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    return svg.replace("font-family: Fira Code,", "font-family: Fira Code, ui-monospace,")


def main() -> None:
    with single_blas_thread():
        for name, (size, theme, keys) in PICTURES.items():
            svg = self_contained(asyncio.run(picture(size, theme, keys)))
            (HERE / f"{name}.svg").write_text(svg, encoding="utf-8")
            print(name)


if __name__ == "__main__":
    main()
