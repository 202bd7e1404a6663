"""Progress of long commands in notebooks. On a terminal, the command shows its own."""

from __future__ import annotations

import sys
from typing import Any

from tcpexp import _native


class _Bar:
    """A bar below a cell, which disappears at the end."""

    def __init__(self) -> None:
        self._shown: Any = None

    def show(self, done: int, total: int) -> None:
        """Shows how many bytes were read; nothing at the end, when `total` is 0."""
        from IPython.display import HTML, display

        percent = 100 * min(done, total) // total if total else 0
        text = f"{done / 1e6:,.0f} of {total / 1e6:,.0f} MB read"
        bar = HTML(f'<progress max="100" value="{percent}"></progress> {text}' if total else "")
        if self._shown is None:
            self._shown = display(bar, display_id=True)
        else:
            self._shown.update(bar)
        if not total:
            self._shown = None


def begin() -> None:
    """Shows progress if this process is the kernel of a notebook."""
    # A program that imports IPython, but is none of its kernels, has no such shell.
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    if shell is not None and hasattr(shell, "kernel"):
        _native.on_progress(_Bar().show)
