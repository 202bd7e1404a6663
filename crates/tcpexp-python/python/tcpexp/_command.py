"""The command `tcpexp`."""

import signal
import sys

from tcpexp import _native


def main() -> None:
    """Runs the command with the arguments of this process."""
    # Python's own handler would wait for the command to end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_native.main(sys.argv))
