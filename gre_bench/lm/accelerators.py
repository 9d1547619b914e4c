"""What torch finds to compute on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Accelerator:
    """A CUDA device: its name, and its free and whole memory in bytes."""

    name: str
    free: int
    memory: int


@dataclass(frozen=True, slots=True)
class Torch:
    """The torch that is installed: its version, the CUDA it was built for (None: none), the devices it sees."""

    version: str
    cuda: str | None
    devices: tuple[Accelerator, ...]


def torch_here() -> Torch | None:
    """What is there; None if torch is not installed."""
    try:
        import torch
    except ImportError:
        return None
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    devices = [(torch.cuda.get_device_name(place), *torch.cuda.mem_get_info(place)) for place in range(count)]
    return Torch(torch.__version__, torch.version.cuda, tuple(Accelerator(*device) for device in devices))
