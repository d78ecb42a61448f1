"""Measures one call between device-wide synchronisations.

Everything it uses is taken from PyTorch's C layer once, before any code of a candidate runs: replacing
time.perf_counter_ns or torch.cuda.Event later has no effect here.
"""

import gc
import time

import torch


class Stopwatch:
    def __init__(self, device):
        self.device, self.cuda = device, device.type == "cuda"
        # On the CPU: CPU time, which doesn't depend on the machine's load.
        self.now = time.perf_counter_ns if self.cuda else time.process_time_ns
        self.scrap = None
        self.enable_collection, self.disable_collection, self.is_collecting = gc.enable, gc.disable, gc.isenabled
        if self.cuda:
            self.wait = torch._C._cuda_synchronize
            self.stream = torch.cuda.current_stream(device)
            base = torch._C._CudaEventBase
            self.first, self.last = base(enable_timing=True), base(enable_timing=True)
            self.record, self.elapsed = base.record, base.elapsed_time
        else:
            self.wait = int  # nothing runs on after a call on the CPU

    def flush(self, size):
        """Writes so many bytes, so that the device's cache holds nothing of use."""
        if size and self.cuda:
            if self.scrap is None or self.scrap.numel() != size:
                self.scrap = torch.empty(size, dtype=torch.uint8, device=self.device)
            self.scrap.fill_(42)

    def time(self, call, flush=0):
        """(what call() returned, wall time, time between CUDA events), both in nanoseconds."""
        self.flush(flush)
        collecting = self.is_collecting()
        self.disable_collection()
        try:
            return self.time_on_gpu(call) if self.cuda else self.time_on_cpu(call)
        finally:
            if collecting:
                self.enable_collection()

    def time_on_gpu(self, call):
        now, wait, record, first, last, stream = self.now, self.wait, self.record, self.first, self.last, self.stream
        wait()
        start = now()
        record(first, stream)
        result = call()
        record(last, stream)
        wait()
        wall = now() - start
        return result, wall, int(self.elapsed(first, last) * 1e6)

    def time_on_cpu(self, call):
        start = self.now()
        result = call()
        wall = self.now() - start
        return result, wall, wall
