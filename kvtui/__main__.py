"""`python -m kvtui`, from any folder."""

import os
import sys


def _leave_working_folder() -> None:
    """Take the working folder, which `python -m` puts first, off the module path.

    Somebody's own model.py there would be imported in place of our `model`. Where kvtui itself lies
    there, the entry stays; under `python -P` there is none.
    """
    try:
        here = os.getcwd()
    except FileNotFoundError:  # deleted meanwhile: then it is not on the path either
        return
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if not sys.flags.safe_path and sys.path[0] == here and not os.path.samefile(here, home):
        del sys.path[0]


if __name__ == "__main__":
    _leave_working_folder()
    from kvtui.cli import main

    sys.exit(main())
