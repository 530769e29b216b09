"""Wheels made on the spot."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path


def wheel(folder: Path, name: str, version: str, needs: str = "") -> None:
    """A wheel with one module that knows its version."""
    about = f"{name}-{version}.dist-info"
    fields = {
        "Metadata-Version": "2.4",
        "Name": name,
        "Version": version,
        "Requires-Dist": needs,
    }
    metadata = "".join(f"{field}: {value}\n" for field, value in fields.items() if value) + "\n"
    files = {
        f"{name}.py": f"VERSION = {version!r}\n",
        f"{about}/METADATA": metadata,
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = []
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            rows.append(f"{path},sha256={digest},{len(text)}")
        archive.writestr(f"{about}/RECORD", "\n".join([*rows, f"{about}/RECORD,,"]) + "\n")
