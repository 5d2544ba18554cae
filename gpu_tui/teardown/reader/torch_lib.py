"""The only importer of torch, which only the jailed child ever reaches."""

from __future__ import annotations

import importlib
import re
import warnings
from typing import Any

from gpu_tui.teardown.reader.outcome import INSTALL, Skipped

# CVE-2025-32434 (2.6) ran code in spite of weights_only, CVE-2026-24747 (2.10) corrupted memory.
TORCH_AT_LEAST = (2, 11)


def torch_module() -> Any:
    """Torch; Skipped where it is missing, or too old to be trusted with what it reads."""
    warnings.simplefilter("ignore")  # what it says of a file is said to nobody here
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        raise Skipped(f"torch is not installed: {INSTALL}") from None
    version = tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2])
    if version < TORCH_AT_LEAST:
        least = ".".join(map(str, TORCH_AT_LEAST))
        raise Skipped(
            f"torch {torch.__version__} is older than {least}, whose safe load is the first that "
            f"hostile files did not get through: {INSTALL}"
        )
    torch.set_num_threads(1)
    torch.sparse.check_sparse_tensor_invariants.enable()  # or two files end in SIGSEGV
    return torch


def load_weights(torch: Any, file: Any, allow: list[Any], *, lazily: bool = False) -> Any:
    """torch.load, safely: `allow` are pairs of a stand-in and a name. `lazily` reads no tensor."""
    with torch.serialization.safe_globals(allow):
        # weights_only is written out: an environment variable can flip the default.
        return torch.load(file, map_location="cpu", weights_only=True, mmap=lazily or None)
