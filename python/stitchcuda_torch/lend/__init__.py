"""Servers that have imported PyTorch and lend a fork to each client that may borrow: the loop of both."""

import gc
import os
import signal
import socket

from ..base.start import may_borrow


def serve(path, lend):
    """Never returns. lend(listener, borrower) forks; the fork closes the listener."""
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are reaped automatically
    with socket.socket(socket.AF_UNIX) as listener:
        os.umask(0o077)
        listener.settimeout(None)  # the default is one for downloads (protocol.quiet_libraries)
        listener.bind(path)
        listener.listen(64)
        print("ready", flush=True)
        while True:
            borrower, _ = listener.accept()
            with borrower:
                if may_borrow(borrower):
                    lend(listener, borrower)
