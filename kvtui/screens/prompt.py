"""The prompt, to be written anew."""

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Key
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from kvtui.figures import count


class PromptScreen(ModalScreen[str | None]):
    """Asks for a prompt, and returns it, or None where it was left as it is."""

    class Begin(Message):
        """The prompt is finished."""

    AUTO_FOCUS = "TextArea"
    DEFAULT_CSS = """
    PromptScreen { align: center middle; }
    PromptScreen > Vertical {
        width: 80%; max-width: 84; height: auto; max-height: 90%;
        border: round $primary; padding: 0 1; background: $surface;
    }
    PromptScreen TextArea { height: 7; padding: 0; border: none; &:focus { border: none; } }
    PromptScreen .note { color: $text-muted; height: auto; }
    PromptScreen .wrong { color: $error; }
    """
    BINDINGS = [
        ("escape", "leave", "Leave"),
    ]

    def __init__(self, prompt: str, objection: Callable[[str], str | None], limit: int) -> None:
        """`objection` says what is wrong with a prompt, or None."""
        super().__init__()
        self._prompt, self._objection, self._limit = prompt, objection, limit
        self._area = PromptArea(prompt, soft_wrap=True, show_line_numbers=False)
        self._note = Static(classes="note", id="note", markup=False)

    def compose(self) -> ComposeResult:
        box = Vertical()
        box.border_title = "Prompt"
        box.border_subtitle = "escape leaves | enter begins | ctrl+j new line"
        with box:
            yield self._area
            yield self._note

    def on_mount(self) -> None:
        area = self._area
        self._as_shown = area.text  # where a form feed, for one, has become a newline
        area.select_all()  # so that what is typed takes its place
        self._describe()

    def on_text_area_changed(self) -> None:
        self._describe()

    def _accept(self) -> None:
        text = self._area.text
        if text == self._as_shown:
            text = self._prompt
        if self._objection(text) is None:
            self.dismiss(text)
        else:
            self.app.bell()

    def on_prompt_screen_begin(self) -> None:
        self._accept()

    def action_leave(self) -> None:
        self.dismiss(None)

    def _describe(self) -> None:
        text = self._area.text
        note = self._note
        objection = self._objection(text)
        length = count(len(text), "character")
        if len(text) > self._limit:
            length += f"; the model sees the last {self._limit}"
        note.update(Content(f"{length}. {objection or ''}"))
        note.set_class(objection is not None, "wrong")


class PromptArea(TextArea):
    """Enter begins; a new line is ctrl+j, which every terminal sends."""

    def on_key(self, event: Key) -> None:
        if event.key == "enter":
            self.post_message(PromptScreen.Begin())
        elif event.key == "ctrl+j":
            self.insert("\n")
        else:
            return
        event.prevent_default()
        event.stop()
