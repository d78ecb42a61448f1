"""stdout carries the protocol and nothing else: one JSON object a line."""

import json
import logging
import os
import socket
import sys
import warnings


class Channel:
    """Writes protocol lines to a file descriptor; each line is one write, so a crash can't tear it."""

    def __init__(self, descriptor):
        self.descriptor = descriptor

    def send(self, message):
        line = memoryview((json.dumps(message) + "\n").encode())
        while line:
            line = line[os.write(self.descriptor, line) :]

    def progress(self, text):
        self.send({"progress": text})

    def done(self, summary):
        self.send({"done": summary})

    def error(self, error):
        self.send({"error": error.as_json()})


class Requests:
    """Lines of a Unix socket; a descriptor may come with one."""

    def __init__(self, descriptor):
        self.socket, self.given, self.rest = socket.socket(fileno=descriptor), [], b""
        self.socket.settimeout(None)

    def lines(self):
        while True:
            line, end, rest = self.rest.partition(b"\n")
            if end:
                self.rest = rest
                yield line
                continue
            data, given, _, _ = socket.recv_fds(self.socket, 1 << 16, 1)
            if not data:
                return
            self.given += given
            self.rest += data

    def take(self):
        """The descriptor that came last; None where there was none."""
        return self.given.pop() if self.given else None


def take_stdout():
    """Keeps the real stdout for the protocol; prints of Python and C code alike go to stderr from now on."""
    sys.stdout.flush()
    channel = Channel(os.dup(1))
    os.dup2(2, 1)
    return channel


def close_stdin():
    """A task that asks for input gets end-of-file at once, never a hang."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115  as long as the process


def quiet_libraries():
    """Must run before torch and transformers are imported: they read these once."""
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY"):
        os.environ.setdefault(name, "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "critical")
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TQDM_DISABLE", "1")
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    socket.setdefaulttimeout(20)  # a download through a dead network must end, not hang
