"""The one exception of this package: what is wrong, and how to fix it."""


class StitchError(RuntimeError):
    def __init__(self, message, fix=""):
        super().__init__(f"{message}\n  fix: {fix}" if fix else message)
        self.message, self.fix = message, fix


def error_of(document, message):
    """The tool's error; `message`: where it said none."""
    where = f" ({document['where']})" if document.get("where") else ""
    return StitchError((document.get("message") or message) + where, document.get("fix", ""))
