"""What a release is made of: the lock, the audit, the wheel with its list of parts.

python -m scripts.release lock     requirements.lock: every package of development and CI, by version and hash
python -m scripts.release audit    known holes in them; 1: there are some, 75: it could not be looked up
python -m scripts.release build    dist/: wheel, source, sbom.cdx.json, SHA256SUMS, from the last commit
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import uuid
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
LOCK = "requirements.lock"
NOT_CHECKED = 75
_NAME = "paper-pipeline"


def make_lock() -> None:
    """Writes requirements.lock anew. No index is named in it: it holds on each."""
    plain = ("--no-header", "--no-emit-index-url", "--no-annotate", "--quiet")
    words = ("pip", "compile", "pyproject.toml", "--extra", "dev", "--universal", "--python-version", "3.11")
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}") or "uv"
    subprocess.run([uv, *words, "--generate-hashes", *plain, "--upgrade", "-o", LOCK], cwd=ROOT, check=True)


def audit(command: tuple[str, ...] = (sys.executable, "-m", "pip_audit")) -> int:
    """Looks up the packages of the lock; 0 only where each of them was looked up and none has a hole."""
    words = ("--strict", "--require-hashes", "--disable-pip", "--progress-spinner", "off", "--format", "json")
    ended = subprocess.run([*command, *words, "-r", LOCK], cwd=ROOT, capture_output=True, text=True, check=False)
    try:
        rows = json.loads(ended.stdout)["dependencies"]
    except (ValueError, KeyError):
        last = ended.stderr.strip().rpartition("\n")[2]
        print(f"not checked: {last or f'pip-audit ended with {ended.returncode}'}")
        return NOT_CHECKED
    holes = [(row["name"], row["version"], hole["id"]) for row in rows for hole in row.get("vulns", ())]
    for name, version, hole in holes:
        print(f"{name} {version}: {hole}")
    skipped = [row["name"] for row in rows if "skip_reason" in row]
    if skipped and not holes:
        print(f"not checked: {', '.join(skipped)}")
        return NOT_CHECKED
    print(f"{len(rows)} packages looked up, {len(holes)} holes")
    return int(bool(holes))


def build(into: Path = ROOT / "dist") -> None:
    """Builds wheel and source with the time of the last commit in them, so that two builds have the same bytes."""
    moment = commit_time()
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(moment)}
    words = ("-m", "build", "--no-isolation", "--outdir", str(into), str(ROOT))
    subprocess.run([sys.executable, *words], env=environment, check=True, stdout=subprocess.DEVNULL)
    (into / "sbom.cdx.json").write_text(json.dumps(list_parts(moment), indent=2) + "\n", encoding="utf-8")
    made = sorted(path for path in into.iterdir() if path.suffix in (".whl", ".gz", ".json"))
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in made]
    (into / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
    print("".join(lines), end="")


def commit_time() -> int:
    """When the last commit was made, in seconds."""
    told = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True)
    return int(told.stdout)


def list_parts(moment: int) -> dict[str, Any]:
    """The list of parts in CycloneDX 1.5: every package that the program needs to run, as installed here, hashes by the lock."""
    names = sorted(_runtime_names())
    parts = [_describe_part(name) for name in names]
    own = {"type": "application", "bom-ref": _NAME, "name": _NAME, "version": metadata.version(_NAME)}
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.UUID(digest[:32])}",
        "version": 1,
        "metadata": {"timestamp": datetime.fromtimestamp(moment, UTC).isoformat(), "component": own},
        "components": parts,
        "dependencies": [{"ref": _NAME, "dependsOn": [part["bom-ref"] for part in parts]}],
    }


def locked_hashes() -> dict[str, list[str]]:
    """The sha256 of every file of each package, by the lock."""
    found: dict[str, list[str]] = {}
    for block in re.split(r"\n(?=\S)", (ROOT / LOCK).read_text(encoding="utf-8")):
        name = block.partition("==")[0].strip()
        found[name] = re.findall(r"--hash=sha256:([0-9a-f]{64})", block)
    return found


def _runtime_names(name: str = _NAME, seen: set[str] | None = None) -> set[str]:
    """What a package needs, and what that needs, without extras."""
    seen = set() if seen is None else seen
    for line in metadata.requires(name) or ():
        wanted = Requirement(line)
        plain = re.sub(r"[-_.]+", "-", wanted.name).lower()
        if plain not in seen and (wanted.marker is None or wanted.marker.evaluate({"extra": ""})):
            seen.add(plain)
            _runtime_names(plain, seen)
    return seen


def _describe_part(name: str) -> dict[str, Any]:
    about = metadata.metadata(name)
    url = f"pkg:pypi/{name}@{about['Version']}"
    told = next((about[name] for name in ("License-Expression", "License") if name in about), "")
    licence = told.split("\n")[0][:80]
    part: dict[str, Any] = {
        "type": "library", "bom-ref": url, "name": name, "version": about["Version"], "purl": url
    }  # fmt: skip
    if licence:
        part["licenses"] = [{"license": {"name": licence}}]
    files = locked_hashes().get(name, [])
    if files:
        part["properties"] = [{"name": "locked:sha256", "value": digest} for digest in files]
    return part


def main(words: list[str]) -> int:
    """Does one of the three jobs; the exit code."""
    if words == ["audit"]:
        return audit()
    if words == ["lock"]:
        make_lock()
        return 0
    if words == ["build"]:
        build()
        return 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
