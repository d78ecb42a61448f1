"""Memory that processes share, the GPU's lock, the clock and the profiler: used by reference and candidate alike."""
