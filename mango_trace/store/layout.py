"""The dataset format: names, versions and how its arrays are encoded.

::

    DATASET/dataset.json                     format version, name, licence, how it was made
    DATASET/writers.lock                     held by writers, alone by whoever compacts
    DATASET/labels.jsonl                     what people say failed first, one label a line
    DATASET/samples.jsonl                    which traces were drawn for which sample, one a line
    DATASET/scenes/<sha256>/                 scene packages
    DATASET/scenes/assets/                   files that several scenes name
    DATASET/segments/<id>/states.zarr        Zarr v3 arrays, traces concatenated along time
    DATASET/segments/<id>/episodes.parquet   the commit point: a trace exists when its row does
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from mango_trace.errors import DatasetError, NewerFormatError
from mango_trace.store.location import check_local

FORMAT_VERSION: Final = 1
"""Version of the dataset format."""

DATASET_FILE: Final = "dataset.json"
LOCK: Final = "writers.lock"
SCENES: Final = "scenes"
SEGMENTS: Final = "segments"
ARRAYS: Final = "states.zarr"
INDEX: Final = "episodes.parquet"

CHUNK_ROWS: Final = 4096
"""States in a chunk. About ten LIBERO episodes, so that 10,000 traces need few files. The shape of an
array is a multiple of it; which of its rows belong to a trace is in the index."""

LEVEL: Final = 5
"""Effort of compression. On LIBERO traces 7 takes 0.2 % and 9 takes 2 % less room than 5, at a quarter
and a thirtieth of the speed; 1 takes 4 % more at two to three times the speed."""

SUCCESS_UNKNOWN: Final = 255
"""Value of ``success`` for steps at which the benchmark gave none."""


class DatasetInfo(BaseModel):
    """Content of ``dataset.json``.

    Attributes:
        format_version: Version of the format.
        name: Name of the dataset.
        licence: Licence of the data.
        made_by: How it was made.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format_version: int = FORMAT_VERSION
    name: str = ""
    licence: str = ""
    made_by: str = ""


def read_info(root: Path) -> DatasetInfo:
    """Read ``dataset.json``.

    Raises:
        DatasetError: There is none, or it is malformed.
        NewerFormatError: Written by a newer version.
    """
    path = root / DATASET_FILE
    try:
        text = path.read_text()
    except OSError as error:
        inside = (
            sorted(p.name for p in root.iterdir() if (p / DATASET_FILE).exists()) if root.is_dir() else []
        )
        hint = f"; there are datasets in it: {', '.join(inside)}" if inside else ""
        raise DatasetError(f"{root}: not a dataset, no readable {DATASET_FILE}{hint}") from error
    try:
        version = DatasetInfo.model_validate_json(text).format_version
    except ValidationError as error:
        version = _version_in(text)
        if version <= FORMAT_VERSION:
            raise DatasetError(f"{path}: {error}") from error
    if version > FORMAT_VERSION:
        raise NewerFormatError(str(path), version, FORMAT_VERSION)
    return DatasetInfo.model_validate_json(text)


def _version_in(text: str) -> int:
    """Version of a document that may have fields this program does not know."""

    class _Version(BaseModel):
        model_config = ConfigDict(extra="ignore")
        format_version: int = 0

    try:
        return _Version.model_validate_json(text).format_version
    except ValidationError:
        return 0


def check_target(root: Path) -> None:
    """See that a dataset is there or can be made there.

    Raises:
        DatasetError: It is no directory, or holds something else.
        UsageError: It is a URL.
    """
    check_local(root)
    if root.exists() and not root.is_dir():
        raise DatasetError(f"{root}: a file, and no directory for a dataset")
    if (root / DATASET_FILE).exists() or not root.is_dir() or not any(root.iterdir()):
        return
    if not (root / SEGMENTS).is_dir():
        inside = sorted(path.name for path in root.iterdir() if (path / DATASET_FILE).exists())
        hint = f"; there are datasets in it: {', '.join(inside)}" if inside else ""
        raise DatasetError(f"{root}: the directory is not empty and holds no dataset{hint}")


def create_dataset(root: Path, info: DatasetInfo) -> DatasetInfo:
    """Create a dataset, or return what an existing one says of itself."""
    check_target(root)
    if (root / DATASET_FILE).exists():
        return read_info(root)
    (root / SEGMENTS).mkdir(parents=True, exist_ok=True)
    write_atomically(root / DATASET_FILE, info.model_dump_json(indent=1).encode())
    return info


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that readers see the old or the new content, never a part."""
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    part.write_bytes(content)
    part.replace(path)


def codecs(level: int, itemsize: int) -> dict[str, Any]:
    """Codecs for an array of shape ``(N, width)``.

    Columns are laid out contiguously in time and their bytes shuffled: signs, exponents and leading
    mantissa bits of a smooth signal then stand together.

    Args:
        level: Effort of zstd, 1 to 9. It matters to writers only.
        itemsize: Bytes of a number.
    """
    # Zarr takes a third of a second to import, and who reads what is encoded so needs none of it.
    from zarr.codecs import BloscCodec, BytesCodec, TransposeCodec

    return {
        "filters": [TransposeCodec(order=(1, 0))],
        "serializer": BytesCodec(endian="little"),
        "compressors": [
            BloscCodec(cname="zstd", clevel=level, shuffle="shuffle", typesize=itemsize, blocksize=0)
        ],
    }
