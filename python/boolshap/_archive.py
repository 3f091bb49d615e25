"""Explainers in files: archives of named parts that hold settings and arrays, and nothing that could be run."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ._types import PathLike
from .errors import FileError


def packed(parts: Mapping[str, bytes]) -> bytes:
    """An archive whose entries carry a fixed date, so that equal explainers are equal files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, part in parts.items():
            archive.writestr(zipfile.ZipInfo(name), part, zipfile.ZIP_DEFLATED)
    return content.getvalue()


def unpacked(content: bytes) -> dict[str, bytes]:
    """The parts of an archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def of_array(array: npt.NDArray[Any]) -> bytes:
    """An array as a part."""
    part = io.BytesIO()
    np.save(part, array, allow_pickle=False)
    return part.getvalue()


def array_of(part: bytes) -> npt.NDArray[Any]:
    """The array of a part."""
    array: npt.NDArray[Any] = np.load(io.BytesIO(part), allow_pickle=False)
    return array


def read_whole(path: PathLike) -> bytes:
    """The content of a file."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise FileError(f"{os.fspath(path)}: {error.strerror or error}") from error
