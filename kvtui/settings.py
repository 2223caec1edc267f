"""What is remembered from one start to the next: a small TOML file, which never stops a start."""

import json
import tomllib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from platformdirs import user_config_path

from model.files import write_bytes_whole


@dataclass(frozen=True)
class Settings:
    theme: str = ""  # empty: the program's own
    zoomed: str = ""  # the panel that has the window for itself; empty: none
    steps_per_second: float = 8.0  # while running; 0 is as fast as it goes


def settings_path() -> Path:
    return user_config_path("kvtui") / "settings.toml"


def load_settings(path: Path) -> tuple[Settings, list[str]]:
    """The settings, and a line on each thing in the file that cannot be one."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Settings(), []
    except (OSError, ValueError) as error:  # TOML and UTF-8 errors are ValueErrors
        return Settings(), [f"{path} cannot be read, so nothing of it holds: {error}"]
    known = {field.name: type(field.default) for field in fields(Settings)}
    good: dict[str, Any] = {}
    complaints = []
    for name, value in found.items():
        if name not in known:
            complaints.append(f"{path}: there is no setting {name}; there are {', '.join(known)}")
        elif not (type(value) is known[name] or (known[name] is float and type(value) is int)):
            complaints.append(f"{path}: {name} must be a {known[name].__name__}, not {value!r}")
        else:
            good[name] = value
    return Settings(**good), complaints


def save_settings(path: Path, settings: Settings) -> None:
    """Raises OSError where the file cannot be written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{name} = {json.dumps(value)}\n" for name, value in asdict(settings).items())
    write_bytes_whole(path, text.encode("utf-8"))
