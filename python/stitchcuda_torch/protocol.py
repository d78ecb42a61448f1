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
            line = line[os.write(self.descriptor, line):]

    def progress(self, text):
        self.send({"progress": text})

    def done(self, summary):
        self.send({"done": summary})

    def error(self, error):
        self.send({"error": error.as_json()})


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
    sys.stdin = open(0, closefd=False)


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
