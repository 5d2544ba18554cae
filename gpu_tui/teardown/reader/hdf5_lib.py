"""The only importer of h5py, which only the jailed child ever reaches."""

from __future__ import annotations

import importlib
import os
from typing import Any

from gpu_tui.teardown.reader.outcome import INSTALL, Skipped


def h5py_module() -> Any:
    """h5py, which loads no filter from any directory; Skipped where it is missing.

    HDF5 reads both variables when it starts: a file names a filter, and it looks there for code that
    unpacks it. https://support.hdfgroup.org/documentation/hdf5/latest/_h5_p_l__u_g.html
    """
    os.environ.pop("HDF5_PLUGIN_PATH", None)
    os.environ["HDF5_PLUGIN_PRELOAD"] = "::"  # H5PL_NO_PLUGIN: all loading is off
    try:
        h5py = importlib.import_module("h5py")
    except ImportError:
        raise Skipped(f"h5py is not installed: {INSTALL}") from None
    while h5py.h5pl.size():
        h5py.h5pl.remove(0)
    return h5py
