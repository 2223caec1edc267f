"""Settings are remembered, and a broken file never stops a start."""

import pytest

from kvtui.settings import Settings, load_settings, save_settings


def test_what_is_saved_is_loaded(tmp_path):
    path = tmp_path / "kvtui" / "settings.toml"
    settings = Settings('a "quoted" \\ theme', "cache", 0.0)
    save_settings(path, settings)
    assert load_settings(path) == (settings, [])


def test_without_a_file_everything_is_as_it_comes(tmp_path):
    assert load_settings(tmp_path / "settings.toml") == (Settings(), [])


@pytest.mark.parametrize(
    ("text", "settings", "complaint"),
    [
        ('colour = 3\ntheme = "nord"', Settings("nord"), "no setting colour; there are theme, zoomed"),
        ("theme = 3", Settings(), "theme must be a str, not 3"),
        ('steps_per_second = "fast"', Settings(), "must be a float"),
        ("steps_per_second = true", Settings(), "must be a float"),
        ("steps_per_second = 4", Settings(steps_per_second=4), None),
        ("theme = ", Settings(), "cannot be read"),
        ("\ud800", Settings(), "cannot be read"),
    ],
)
def test_what_cannot_be_a_setting_is_named(tmp_path, text, settings, complaint):
    path = tmp_path / "settings.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    found, complaints = load_settings(path)
    assert found == settings
    assert complaint in complaints[0] if complaint else complaints == []


def test_a_directory_in_its_place_is_no_reason_to_stop(tmp_path):
    assert load_settings(tmp_path)[0] == Settings()
