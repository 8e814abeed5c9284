"""What the scripts of the page unpack: gzip, as text of 85 characters that HTML leaves alone.

Whole numbers of 16 bits are packed zigzag (0, -1, 1, -2, ...), as a plane of low bytes and one of
high bytes: that of the high ones is nearly empty, since most numbers are small.
"""

import gzip
import json
from base64 import b85encode
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Steps = npt.NDArray[np.int16]
_PLAIN: Final = str.maketrans("<>&", ",./")
"""In place of characters that HTML reads; templates/page.js has the same ones."""


def short(value: float) -> float:
    """A figure with four digits: a chart shows no more, and more are not to be packed."""
    return float(f"{value:.4g}")


def packed(content: bytes) -> str:
    """Bytes as text."""
    return b85encode(gzip.compress(content, 9, mtime=0)).decode("ascii").translate(_PLAIN)


def packed_json(document: Any) -> str:
    """Data as text."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return packed(text.encode())


def packed_steps(steps: Steps) -> str:
    """A table of whole numbers as text."""
    wide = steps.astype(np.int32)
    zigzag = ((wide << 1) ^ (wide >> 31)).astype("<u2")
    return packed(zigzag.view(np.uint8).reshape(-1, 2).T.tobytes())
