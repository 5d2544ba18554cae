"""Lines of the screen's making on standard output: in the theme's colours on a terminal, else plain."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from gpu_tui.ui.theme import CockpitTheme


def print_lines(lines: Sequence[Text], theme: CockpitTheme) -> None:
    """Print `lines`; colours only where a person looks at them and $NO_COLOR is not set."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        sys.stdout.writelines(f"{one.plain.rstrip()}\n" for one in lines)
        return
    console = Console(theme=theme.rich, highlight=False)
    for one in lines:
        console.print(one, soft_wrap=True, end="\n")
