"""What the peers do, in an interpreter of their own: one job as JSON on standard input, one answer as JSON on standard output."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any


def main() -> None:
    job = json.load(sys.stdin)
    json.dump({"bm25s": _bm25s, "tantivy": _tantivy}[job["peer"]](job), sys.stdout)


def _bm25s(job: dict[str, Any]) -> dict[str, Any]:
    """Indexes texts and, for each query, the numbers of the best ones. `stemmed`: with Snowball and English stop words."""
    import bm25s
    import Stemmer

    options: dict[str, Any] = {"show_progress": False}
    options |= {"stemmer": Stemmer.Stemmer("english"), "stopwords": "en"} if job["stemmed"] else {}
    texts = _texts(job)
    began = time.perf_counter()
    model = bm25s.BM25()
    model.index(bm25s.tokenize(texts, **options), show_progress=False)
    seconds = time.perf_counter() - began
    best: list[list[int]] = []
    if job.get("queries"):
        tokens = bm25s.tokenize(job["queries"], **options)
        best = model.retrieve(tokens, k=min(job["best"], len(texts)), show_progress=False)[0].tolist()
    return {"seconds": seconds, "best": best}


def _tantivy(job: dict[str, Any]) -> dict[str, Any]:
    """Indexes files as documents, into a folder or into memory."""
    import tantivy

    texts = _texts(job)
    schema = tantivy.SchemaBuilder().add_text_field("path", stored=True).add_text_field("body", stored=False).build()
    began = time.perf_counter()
    index = tantivy.Index(schema, path=job.get("folder"))
    writer = index.writer(heap_size=128_000_000)
    for number, text in enumerate(texts):
        writer.add_document(tantivy.Document(path=str(number), body=text))
    writer.commit()
    writer.wait_merging_threads()
    return {"seconds": time.perf_counter() - began, "best": []}


def _texts(job: dict[str, Any]) -> list[str]:
    """Given as they are, or as a file that names one file a line."""
    if "texts" in job:
        return list(job["texts"])
    return [Path(line).read_text("utf-8", "replace") for line in Path(job["list"]).read_text().splitlines()]


if __name__ == "__main__":
    main()
