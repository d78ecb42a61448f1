"""The reward service as an environment of others: OpenEnv's protocol, Harbor's task folders, a taskset of verifiers.

Here: rows of `stitchcuda skills`, as their tasks. The standard library alone.
"""

import json


def read_rows(path, split=None):
    """Of one split, or all. A line that is no row is named."""
    rows = []
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                row["prompt"][0]["content"], row["label"], row["extra_info"]["split"]
            except (ValueError, KeyError, TypeError, IndexError) as wrong:
                raise ValueError(f"{path}:{number}: not a row that `stitchcuda skills build` wrote: {wrong!r}") from None
            if split in (None, row["extra_info"]["split"]):
                rows.append(row)
    return rows


def name_of(row, number):
    """A name that is a folder's, too: t-17-from-feedback-3."""
    plain = "".join(c if c.isalnum() or c in "._-" else "-" for c in str(row["answer"]))
    return f"{plain}-{row['extra_info']['skill'].replace(' ', '-')}-{number}"


def prompt_text(row):
    return "\n\n".join(message["content"] for message in row["prompt"])
