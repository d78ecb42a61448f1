"""StitchCUDA: a PyTorch model becomes a verified, faster CUDA program.

    import stitchcuda
    fast = stitchcuda.optimize(model, (x,))
    y = fast(x)
"""

from . import tool  # noqa: F401: finds stitchcuda_torch before anything imports it
from .errors import StitchError
from .module import Fast
from .optimizing import optimize
from .saved import load
from .verdict import Verdict, verify

__all__ = ["Fast", "StitchError", "Verdict", "load", "optimize", "verify"]
__version__ = "0.1.0"
