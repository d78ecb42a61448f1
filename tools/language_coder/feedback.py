"""The Verifier's words for a corpus: what it says of a kind of mistake. In training by GRPO and in evaluation the words are
the Verifier's own; here, where nothing is judged, they are made in its form.
"""

from . import mutations


def imagined(kind, before, contract, draw):
    sort, name = kind
    if sort == mutations.BROKEN:
        return "build: it does not compile"
    if sort == mutations.WRONG:
        return "correctness: wrong"
    return "memory-bound"
