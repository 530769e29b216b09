"""Reads PDFs with docling (the extra `docling`), where it and its models are installed. Nothing is fetched."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from phases.readers.kinds import DOCLING_MODELS, why_no_reader
from phases.readers.pdf.held_reader import read_held
from phases.readers.reading import BROKEN, NO_READER, InputFile, Reading, Unreadable


def read_docling_input(source: InputFile) -> Reading:
    """The reading of a PDF (PDF_READERS)."""
    if why := why_no_reader("docling"):
        raise Unreadable(NO_READER, why)
    return read_held(_read_pages, f"docling {version('docling')}", source)


def _read_pages(path: str, password: str | None) -> Sequence[str]:
    converter = _open_converter(password)
    from docling.exceptions import ConversionError  # as below

    try:
        document = converter.convert(path).document
    except (ConversionError, RuntimeError, OSError) as error:
        raise Unreadable(BROKEN, f"docling: {' '.join(str(error).split())[:200]}") from error
    numbers = range(1, max(document.pages, default=0) + 1)
    return [document.export_to_markdown(page_no=number, escape_underscores=False) for number in numbers]


def _open_converter(password: str | None) -> Any:
    """A converter that has its models on the disk. Raises Unreadable where they are not there."""
    # imported here: it takes seconds, and few have it
    from docling.datamodel.backend_options import PdfBackendOptions
    from docling.datamodel.base_models import InputFormat
    from docling.datamodel.pipeline_options import PdfPipelineOptions
    from docling.datamodel.settings import settings
    from docling.document_converter import DocumentConverter, PdfFormatOption

    # without a directory of its own it would fetch models over the network, while it holds a hostile file
    models = settings.artifacts_path or os.path.join(settings.cache_dir, "models")
    if not os.path.isdir(models):
        raise Unreadable(NO_READER, f"docling's models are not in {models}; fetch them with: {DOCLING_MODELS}")
    options = PdfPipelineOptions(artifacts_path=models, do_ocr=False, enable_remote_services=False)
    backend = PdfBackendOptions(password=password) if password else PdfBackendOptions()
    return DocumentConverter(
        allowed_formats=[InputFormat.PDF],
        format_options={InputFormat.PDF: PdfFormatOption(pipeline_options=options, backend_options=backend)},
    )
