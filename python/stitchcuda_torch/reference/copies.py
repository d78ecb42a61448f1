"""Copies of a module, and what a run changed in it. A network has hundreds of small tensors, and what is done to each of them by
itself takes longer than the network."""

import collections
import copy

import torch

from .distances import same

SMALL = 1 << 18  # elements: those that are copied and compared together


def copied(module, convert=torch.clone):
    """A deep copy, its tensors made by `convert`."""
    tensors = [*module.parameters(), *module.buffers()]
    owners = collections.Counter(storage(tensor) for tensor in tensors)
    made = {id(tensor): converted(tensor, convert) for tensor in tensors if is_plain(tensor) and owners[storage(tensor)] == 1}
    return copy.deepcopy(module, made)


def is_plain(tensor):
    """deepcopy has more to do for others."""
    return (
        type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.layout == torch.strided
        and tensor.is_leaf
        and tensor.grad is None
        and not vars(tensor)
    )


def storage(tensor):
    """Tensors of no elements have none."""
    return (tensor.layout == torch.strided and tensor.device.type != "meta" and tensor.untyped_storage().data_ptr()) or id(tensor)


def converted(tensor, convert):
    new = convert(tensor.detach())
    return torch.nn.Parameter(new, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else new.requires_grad_(tensor.requires_grad)


class Kept:
    """What tensors held, by name. originals: what some are copies of, and nothing writes to."""

    def __init__(self, tensors, originals):
        self.names, self.single, self.small = list(tensors), {}, collections.defaultdict(list)
        for name, tensor in tensors.items():
            if tensor.numel() <= SMALL and tensor.layout == torch.strided:
                self.small[tensor.dtype, tensor.device].append((name, tensor.shape))
            else:
                self.single[name] = originals[name] if name in originals else tensor.detach().clone()
        self.joined = {kind: joined([tensors[name] for name, _ in group]) for kind, group in self.small.items()}

    def changed(self, now):
        """Names of those that are others now, in their order."""
        found = {name for name, old in self.single.items() if name in now and not same(old, now[name])}
        for kind, group in self.small.items():
            held = [now.get(name) for name, _ in group]
            alike = all(new is not None and (new.shape, new.dtype, new.device) == (shape, *kind) for new, (_, shape) in zip(held, group))
            if alike and same(self.joined[kind], joined(held)):
                continue
            parts = self.joined[kind].split([shape.numel() for _, shape in group])
            found.update(name for (name, shape), old in zip(group, parts) if name in now and not same(old.view(shape), now[name]))
        return [name for name in self.names if name in found]


def joined(tensors):
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])
