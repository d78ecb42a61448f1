"""What is going on, for a terminal, a notebook or a log."""

import sys
import time


def progress(wanted):
    if not wanted:
        return Silent()
    if in_notebook():
        return Notebook()
    return Terminal() if sys.stderr.isatty() else Log()


def in_notebook():
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


def duration(seconds):
    return f"{seconds:.0f} s" if seconds < 60 else f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def printable(text):
    return "".join(c if c.isprintable() else " " for c in text)


class Silent:
    def __init__(self):
        self.start = time.monotonic()

    def show(self, text):
        pass

    def finish(self, text):
        pass

    def elapsed(self):
        return duration(time.monotonic() - self.start)

    def line(self, text):
        return printable(f"stitchcuda  {self.elapsed()}  {text}")


class Terminal(Silent):
    def show(self, text):
        import shutil

        width = shutil.get_terminal_size().columns
        sys.stderr.write("\r\x1b[K" + self.line(text)[: width - 1])
        sys.stderr.flush()

    def finish(self, text):
        sys.stderr.write("\r\x1b[K" + "".join(printable(line) + "\n" for line in text.splitlines()))
        sys.stderr.flush()


class Log(Silent):
    """A line now and then."""

    last, every = None, 20

    def show(self, text):
        now = time.monotonic()
        if self.last is None or now - self.last > self.every:
            self.last = now
            print(self.line(text), file=sys.stderr, flush=True)

    def finish(self, text):
        print("\n".join(map(printable, text.splitlines())), file=sys.stderr, flush=True)


class Notebook(Silent):
    """One output that is replaced, so that a saved notebook has the last line only."""

    def __init__(self):
        super().__init__()
        from IPython.display import HTML, display

        self.make = HTML
        self.handle = display(HTML(""), display_id=True)

    def put(self, text):
        import html

        self.handle.update(self.make(f"<pre>{html.escape(text)}</pre>"))

    def show(self, text):
        self.put(self.line(text))

    def finish(self, text):
        self.put("\n".join(map(printable, text.splitlines())))
