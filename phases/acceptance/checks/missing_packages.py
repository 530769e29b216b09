"""Tell failures for want of a package of the plan from failures of the code."""

from __future__ import annotations

import re
from collections.abc import Sequence

_FAULT = re.compile(
    r"^(?:E +)?(?:\w+\.)*(\w*(?:Error|Exception|Failed|Exit|Interrupt))(?::[^\S\n]*|$)([^\n]*)", re.MULTILINE
)
_NAMED_MODULE = re.compile(r"No module named '([^'\n]{1,200})'")
_IMPORTED_AS = {
    "beautifulsoup4": "bs4", "faiss-cpu": "faiss", "faiss-gpu": "faiss", "opencv-python": "cv2", "opencv-python-headless": "cv2",
    "pillow": "PIL", "python-dateutil": "dateutil", "pytorch": "torch", "pyyaml": "yaml", "scikit-image": "skimage",
    "scikit-learn": "sklearn", "tensorflow-cpu": "tensorflow", "umap-learn": "umap",
}  # fmt: skip
_PLAIN_ASSERT = re.compile(r"^E +assert\b", re.MULTILINE)


def packages_missing_in_tests(output: str, missing: Sequence[str]) -> list[str]:
    """Return those of the plan's `missing` packages for whose lack alone tests failed; empty if anything else failed too."""
    imported = {top: name for name in missing for top in import_names(name)}
    lacking, others = dict[str, None](), []
    for kind, rest in _FAULT.findall(output):
        named = _NAMED_MODULE.match(rest) if kind == "ModuleNotFoundError" else None
        if named and (name := imported.get(named[1].partition(".")[0])):
            lacking[name] = None
        elif not rest.startswith("Failed to import test module"):
            others.append(rest)
    words = [word for name in lacking for word in (name, *import_names(name))]
    # One failure of another kind, and the missing package does not excuse the rest.
    if _PLAIN_ASSERT.search(output) or not all(any(word in rest for word in words) for rest in others):
        return []
    return list(lacking)


def import_names(package: str) -> tuple[str, ...]:
    """Return the names under which a package is imported, as far as its own name tells."""
    name = re.sub(r"[-_.]+", "-", package).lower()
    return (_IMPORTED_AS.get(name, name.replace("-", "_")), package.replace("-", "_"))
