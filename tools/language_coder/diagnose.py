"""What slows a run down: the host's cost of a launch, the GPU's rate, and who uses the cores. A line for the log."""

import os
import time


def busiest(seconds=1.0, count=6):
    """[(share of a core, name)] of the processes that used most of the CPU in the meantime."""
    def ticks():
        out = {}
        for each in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{each}/stat", encoding="utf-8", errors="replace") as file:
                    head, _, rest = file.read().rpartition(")")
                fields = rest.split()
                out[each] = (int(fields[11]) + int(fields[12]), head.partition("(")[2])
            except (OSError, IndexError, ValueError):
                continue
        return out
    before, rate = ticks(), os.sysconf("SC_CLK_TCK")
    time.sleep(seconds)
    used = [((now - before[each][0]) / rate / seconds, name) for each, (now, name) in ticks().items() if each in before]
    return [(round(share, 2), name) for share, name in sorted(used, reverse=True)[:count] if share > 0.02]


def new_shapes(device, with_plans):
    """Milliseconds of attention over one more key than before, the mean of eight."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    kinds = [SDPBackend.CUDNN_ATTENTION] if with_plans else [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]
    q, kv = (torch.zeros(32, 8, length, 64, device=device, dtype=torch.bfloat16) for length in (1, 1024))

    def attend(length):
        torch.nn.functional.scaled_dot_product_attention(q, kv[:, :, :length], kv[:, :, :length])
    with torch.no_grad(), sdpa_kernel(kinds):
        attend(900)
        torch.cuda.synchronize()
        begin = time.monotonic()
        for length in range(901, 909):
            attend(length)
        torch.cuda.synchronize()
    return round((time.monotonic() - begin) / 8 * 1e3, 2)


def line(device, plans=False):
    """`plans`: also what a new shape of attention costs with cuDNN's plans and without."""
    import torch
    out = {"load": os.getloadavg()[0], "cores": os.cpu_count(), "busiest": busiest()}
    small, large = torch.zeros(1024, device=device), torch.zeros(4096, 4096, device=device, dtype=torch.bfloat16)
    wait = torch.cuda.synchronize if device.type == "cuda" else (lambda: None)
    _ = large @ large
    wait()
    begin = time.monotonic()
    for _ in range(200):
        small = small + 1
    out["host_us_a_launch"] = round((time.monotonic() - begin) / 200 * 1e6, 1)
    wait()
    if device.type == "cuda":
        begin = time.monotonic()
        for _ in range(20):
            _ = large @ large
        wait()
        out["tflops"] = round(20 * 2 * 4096**3 / (time.monotonic() - begin) / 1e12, 1)
        for name, with_plans in (("ms_a_new_shape_cudnn", True), ("ms_a_new_shape", False)) if plans else ():
            try:
                out[name] = new_shapes(device, with_plans)
            except RuntimeError as error:  # no such kernel here
                out[name] = str(error)[:80]
    return out


def decoding(model, batch=256, prompt=1024, tokens=64):
    """Milliseconds a token with a CUDA graph and without, and whether both say the same."""
    import torch
    from . import decode
    device = next(model.parameters()).device
    ids = torch.randint(2, model.config.vocab_size, (batch, prompt), generator=torch.Generator().manual_seed(1)).to(device)
    out, said = {"rows": batch, "prompt": prompt}, []
    for graphs in (True, False):
        for _ in range(2):  # the first records
            torch.cuda.synchronize()
            begin = time.monotonic()
            said.append(decode.generate(model, ids, torch.ones_like(ids), tokens, 0, graphs))
            torch.cuda.synchronize()
        out["ms_a_token" + ("" if graphs else "_launched")] = round((time.monotonic() - begin) / said[-1].shape[1] * 1e3, 2)
    out["equal"] = torch.equal(said[1], said[3])
    model._decoders.clear()
    return out
