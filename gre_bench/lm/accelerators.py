"""Reports which torch is installed and which CUDA devices it can use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Accelerator:
    """A CUDA device.

    - *name*: the device's name.
    - *free*, *memory*: its free memory and its total memory, in bytes.
    """

    name: str
    free: int
    memory: int


@dataclass(frozen=True, slots=True)
class Torch:
    """The installed torch.

    - *cuda*: the CUDA version that torch was built for; None if it runs on the CPU only.
    - *devices*: the CUDA devices that torch sees.
    """

    version: str
    cuda: str | None
    devices: tuple[Accelerator, ...]


def torch_here() -> Torch | None:
    """Returns the installed torch and its devices; None if torch is not installed."""
    try:
        import torch
    except ImportError:
        return None
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    devices = [(torch.cuda.get_device_name(index), *torch.cuda.mem_get_info(index)) for index in range(count)]
    return Torch(torch.__version__, torch.version.cuda, tuple(Accelerator(*device) for device in devices))
