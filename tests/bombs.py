"""Small PDFs that want much: each is made in memory, the same every time, and none may cost a reader more than its limits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.papers import ROOT
from tests.work import HUNG

GIB, MIB = 2**30, 2**20
MEMORY_MIB = 1024
"""What a reader may use, whatever it is given."""
CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
FONTS = b"/Resources << /Font << /F1 5 0 R >> >>"
PAGE = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R " + FONTS + b" >>"
PAGES = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
WORDS = b"BT /F1 11 Tf 60 700 Td (Words that are no bomb at all.) Tj ET"
FLATE = b"/Filter /FlateDecode"


@dataclass(frozen=True)
class Bomb:
    """A kind of PDF bomb: how to make it as large as it is meant, and how to make one that is over soon.

    `readable` says that the little one is a PDF like any other, with `WORDS` on its page: it is refused for its size alone.
    """

    name: str
    make: Callable[[], bytes]
    little: Callable[[], bytes]
    readable: bool = False


@dataclass(frozen=True)
class Blast:
    """How the reading of a bomb ended, what it cost, and what it left behind."""

    verdict: str
    words: str
    links: int
    child_mib: int
    """The peak of its reader."""
    growth_mib: int
    """The growth of the process that started the reader."""
    litter: tuple[str, ...]


# A process of its own: what its children took at most is then the reader's doing and nobody else's.
_PROBE = """
import json, resource, sys
from phases.readers.reader_subprocess import read_in_subprocess
from tests.memory import measure_growth
growth = measure_growth()
found = read_in_subprocess("pdf", sys.argv[1])
print(json.dumps({
    "child_mib": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,
    "growth_mib": growth(),
    "verdict": found.verdict,
    "links": len(found.links),
    "words": " ".join(found.pages)[:100_000],
}))
"""


def explode(content: bytes, folder: Path) -> Blast:
    """Reads a bomb in an empty folder, with the limits that every PDF is read with."""
    paper, ground = folder / "bomb.pdf", folder / "ground"
    paper.write_bytes(content)
    ground.mkdir()
    ended = subprocess.run(
        [sys.executable, "-c", _PROBE, str(paper)],
        cwd=ground,
        env={"PATH": os.environ["PATH"], "TMPDIR": str(ground), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=HUNG,
        check=False,
    )
    if ended.returncode:
        raise AssertionError(f"the parent ended with code {ended.returncode}: {ended.stderr[-2000:]}")
    litter = sorted(path.name for path in ground.rglob("*"))
    return Blast(litter=(*litter, *processes_with(str(paper))), **json.loads(ended.stdout))


def processes_with(argument: str) -> list[str]:
    """The processes that have this on their command line, where the system tells; zombies have none."""
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit() and name != str(os.getpid()):
            try:
                words = Path("/proc", name, "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            found += [f"process {name}"] if os.fsencode(argument) in words else []
    return found


# Streams that are small on the disk


def flate(size: int = 2 * GIB) -> bytes:
    """A page whose contents are `size` bytes once they are inflated."""
    return document({4: stream(deflated_zeros(size), FLATE)})


def flate_again(times: int = 2000, size: int = 64 * MIB) -> bytes:
    """A page whose contents are one compressed stream, named `times` times."""
    contents = b" ".join([b"4 0 R"] * times)
    page = PAGE.replace(b"/Contents 4 0 R", b"/Contents [" + contents + b"]")
    return document({3: page, 4: stream(deflated_zeros(size), FLATE)})


def flate_thrice(size: int = 2 * GIB) -> bytes:
    """A page whose contents are compressed three times over: less than a kilobyte for two gigabytes."""
    squeezed = zlib.compress(zlib.compress(deflated_zeros(size), 9), 9)
    return document({4: stream(squeezed, b"/Filter [/FlateDecode /FlateDecode /FlateDecode]")})


def font_map(size: int = 2 * GIB) -> bytes:
    """A font whose table of letters is `size` bytes once it is inflated."""
    font = FONT.replace(b" >>", b" /ToUnicode 6 0 R >>")
    return document({5: font, 6: stream(deflated_zeros(size), FLATE)})


def font_map_of_ranges(ranges: int = 100_000) -> bytes:
    """A font whose table of letters says of `ranges` ranges that they are each all letters there are."""
    rows = b"%d beginbfrange\n%s endbfrange" % (ranges, b"<0000> <FFFF> <0041>\n" * ranges)
    table = b"/CIDInit /ProcSet findresource begin begincmap\n" + rows + b"\nendcmap end"
    font = FONT.replace(b" >>", b" /ToUnicode 6 0 R >>")
    return document({5: font, 6: stream(zlib.compress(table, 9), FLATE)})


def object_stream(size: int = 2 * GIB) -> bytes:
    """A file whose first objects lie in a compressed stream, with `size` bytes behind them."""
    objects = (CATALOG, PAGES, PAGE)
    places = [sum(len(one) + 1 for one in objects[:index]) for index in range(len(objects))]
    head = b" ".join(b"%d %d" % (number, place) for number, place in enumerate(places, 1)) + b" "
    packed = deflated_zeros(size, head + b"\n".join(objects) + b"\n")
    entries = b"/Type /ObjStm /N %d /First %d " % (len(objects), len(head))
    body, starts = _body({4: stream(WORDS), 5: FONT, 6: stream(packed, entries + FLATE)})
    rows = [_row(0, 0, 65535), _row(2, 6, 0), _row(2, 6, 1), _row(2, 6, 2)]
    rows += [_row(1, starts[number], 0) for number in (4, 5, 6)]
    return _with_table(body, stream(b"".join(rows), _table_entries(7)))


def reference_table(entries: int = 300_000_000) -> bytes:
    """A file whose table of objects is compressed, and goes on for `entries` rows."""
    body, starts = _body({1: CATALOG, 2: PAGES, 3: PAGE, 4: stream(WORDS), 5: FONT})
    rows = _row(0, 0, 65535) + b"".join(_row(1, starts[number], 0) for number in range(1, 6))
    return _with_table(body, stream(deflated_zeros((entries - 6) * 7, rows), _table_entries(entries) + FLATE))


# Trees that never end


def page_tree_cycle() -> bytes:
    """Pages whose children are themselves."""
    return document({2: b"<< /Type /Pages /Kids [2 0 R 3 0 R 2 0 R] /Count 3 /Parent 2 0 R >>"})


def many_kids(kids: int = 1_000_000) -> bytes:
    """One page that is the child of the tree a million times."""
    return document({2: b"<< /Type /Pages /Kids [" + b"3 0 R " * kids + b"] /Count %d >>" % kids})


def promised_pages(count: int = 2**31 - 1) -> bytes:
    """One page, in a tree that says it has two thousand million."""
    return document({2: b"<< /Type /Pages /Kids [3 0 R] /Count %d >>" % count})


def outline_cycle() -> bytes:
    """An outline whose entries follow each other in a circle, and are each other's children."""
    entry = b"<< /Title (Round) /Parent 6 0 R /Dest [3 0 R /Fit] /Next %d 0 R /First %d 0 R /Last %d 0 R >>"
    return document(
        {
            1: CATALOG.replace(b" >>", b" /Outlines 6 0 R >>"),
            6: b"<< /Type /Outlines /First 7 0 R /Last 8 0 R /Count 2 >>",
            7: entry % (8, 8, 8),
            8: entry % (7, 7, 7),
        }
    )


def deep_outline(depth: int = 100_000) -> bytes:
    """An outline in which each entry is the only child of the one before."""
    entries = {
        10 + level: b"<< /Title (Deeper) /Parent %d 0 R /Dest [3 0 R /Fit] /First %d 0 R /Last %d 0 R /Count 1 >>"
        % (9 + level if level else 6, 11 + level, 11 + level)
        for level in range(depth)
    }
    return document(
        {
            1: CATALOG.replace(b" >>", b" /Outlines 6 0 R >>"),
            6: b"<< /Type /Outlines /First 10 0 R /Last 10 0 R /Count 1 >>",
            **entries,
        }
    )


def reference_table_cycle() -> bytes:
    """Two tables of objects that each name the other as the one before."""
    body = document({})
    place = body.rindex(b"xref\n0 1")
    first, _, tail = body.partition(b"trailer\n<< ")
    return first + b"trailer\n<< /Prev %d " % place + tail


def nested_arrays(depth: int = 1_000_000) -> bytes:
    """An object that is arrays within arrays, a million deep."""
    return document({3: PAGE.replace(b"/Contents", b"/Deep " + b"[" * depth + b"]" * depth + b" /Contents")})


# Pages that are much work


def form_in_itself(times: int = 2) -> bytes:
    """A form that draws itself, more than once: the number of drawings doubles with every step."""
    draw = b"/X0 Do " * times
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << /XObject << /X0 6 0 R >> >>"
    page = PAGE.replace(b"/Font <<", b"/XObject << /X0 6 0 R >> /Font <<")
    return document({3: page, 4: stream(draw), 6: stream(draw, form)})


def forms_that_double(levels: int = 40) -> bytes:
    """Forms that each draw the next one twice, in no circle: 2 to the 40th drawings."""
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << /XObject << /X0 %d 0 R >> >>"
    forms = {10 + level: stream(b"/X0 Do /X0 Do", form % (11 + level)) for level in range(levels)}
    last = stream(b"0 0 1 1 re f", b"/Type /XObject /Subtype /Form /BBox [0 0 612 792]")
    page = PAGE.replace(b"/Font <<", b"/XObject << /X0 10 0 R >> /Font <<")
    return document({3: page, 4: stream(b"/X0 Do"), **forms, 10 + levels: last})


def single_letters(count: int = 300_000) -> bytes:
    """A page of one-letter strings, each shown by an operator of its own."""
    content = b"BT /F1 11 Tf 60 700 Td\n" + b"(a) Tj\n" * count + b"ET"
    return document({4: stream(zlib.compress(content, 9), FLATE)})


def scattered_letters(count: int = 300_000, pages: int = 1) -> bytes:
    """As many letters on each page, each at a place of its own, so that no two of them make a line."""
    places = b"".join(b"1 0 0 1 %d %d Tm (a) Tj\n" % (7 * n % 600, 11 * n % 780) for n in range(min(count, 5000)))
    content = b"BT /F1 1 Tf\n" + places * max(1, count // 5000) + b"ET"
    tree = b"<< /Type /Pages /Kids [" + b"3 0 R " * pages + b"] /Count %d >>" % pages
    return document({2: tree, 4: stream(zlib.compress(content, 9), FLATE)})


def saved_states(count: int = 5_000_000) -> bytes:
    """A page that saves its state for ever and restores it never."""
    return document({4: stream(zlib.compress(b"q " * count + WORDS, 9), FLATE)})


def endless_page() -> bytes:
    """A page as large as numbers go, with words in two of its corners."""
    words = b"BT /F1 2000000000 Tf 2000000000 2000000000 Td (Large) Tj -2000000000 -2000000000 Td (words) Tj ET"
    box = b"/MediaBox [-2147483648 -2147483648 2147483647 2147483647]"
    return document({3: PAGE.replace(b"/MediaBox [0 0 612 792]", box), 4: stream(words)})


def huge_picture(side: int = 60_000) -> bytes:
    """A page with a picture of `side` by `side` points, black all over."""
    picture = b"/Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceRGB /BitsPerComponent 8 " % (
        side,
        side,
    )
    page = PAGE.replace(b"/Font <<", b"/XObject << /X0 6 0 R >> /Font <<")
    content = WORDS + b" q 600 0 0 100 0 0 cm /X0 Do Q"
    data = deflated_zeros(min(3 * side * side, 2 * GIB))
    return document({3: page, 4: stream(content), 6: stream(data, picture + FLATE)})


def many_notes(count: int = 300_000) -> bytes:
    """A page with three hundred thousand links, all at one place."""
    page = PAGE.replace(b"/Contents", b"/Annots [" + b"6 0 R " * count + b"] /Contents")
    link = b"<< /Type /Annot /Subtype /Link /Rect [0 0 600 700] /A << /S /URI /URI (https://example.org) >> >>"
    return document({3: page, 6: link})


BOMBS = [
    Bomb("contents of two gigabytes", flate, lambda: flate(8 * MIB)),
    Bomb("contents named two thousand times", flate_again, lambda: flate_again(4, MIB)),
    Bomb("contents compressed three times", flate_thrice, lambda: flate_thrice(8 * MIB)),
    Bomb("pages that are their own children", page_tree_cycle, page_tree_cycle),
    Bomb("a million children", many_kids, lambda: many_kids(3)),
    Bomb("a form that draws itself", form_in_itself, lambda: form_in_itself(1)),
    Bomb("three hundred thousand strings of one letter", single_letters, lambda: single_letters(3000)),
    Bomb("letters scattered all over", scattered_letters, lambda: scattered_letters(1000)),
    Bomb("pages of scattered letters", lambda: scattered_letters(300, 2000), lambda: scattered_letters(30, 20)),
    Bomb("forms that draw twice", forms_that_double, lambda: forms_that_double(8)),
    Bomb("objects in a stream of two gigabytes", object_stream, lambda: object_stream(MIB), readable=True),
    Bomb("a table of three hundred million objects", reference_table, lambda: reference_table(10_000), readable=True),
    Bomb("tables that name each other", reference_table_cycle, reference_table_cycle, readable=True),
    Bomb("two thousand million pages, as it says", promised_pages, lambda: promised_pages(9999)),
    Bomb("arrays a million deep", nested_arrays, lambda: nested_arrays(500), readable=True),
    Bomb("an outline in a circle", outline_cycle, outline_cycle),
    Bomb("an outline a hundred thousand deep", deep_outline, lambda: deep_outline(300), readable=True),
    Bomb("a font's table of two gigabytes", font_map, lambda: font_map(8 * MIB), readable=True),
    Bomb(
        "a font's table of all letters, again and again",
        font_map_of_ranges,
        lambda: font_map_of_ranges(20),
    ),
    Bomb("states that are saved for ever", saved_states, lambda: saved_states(5000), readable=True),
    Bomb("a page without an end", endless_page, endless_page),
    Bomb("a picture of ten gigabytes", huge_picture, lambda: huge_picture(600), readable=True),
    Bomb("three hundred thousand links", many_notes, lambda: many_notes(2000), readable=True),
]


# What they are made of


def document(objects: Mapping[int, bytes]) -> bytes:
    """A PDF of one page of a few words, with these objects in place of its own or beside them."""
    parts = {1: CATALOG, 2: PAGES, 3: PAGE, 4: stream(WORDS), 5: FONT, **objects}
    body, starts = _body(parts)
    rows = b"".join(b"%d 1\n%010d 00000 n \n" % (number, start) for number, start in starts.items())
    table = b"xref\n0 1\n0000000000 65535 f \n" + rows
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (max(parts) + 1, len(body))
    return body + table + trailer


def _body(parts: Mapping[int, bytes]) -> tuple[bytes, dict[int, int]]:
    """The objects of a PDF in order, and where each one starts."""
    out, starts = bytearray(b"%PDF-1.5\n"), {}
    for number, content in sorted(parts.items()):
        starts[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    return bytes(out), starts


def _row(kind: int, place: int, index: int) -> bytes:
    """A row of a table of objects that is a stream."""
    return kind.to_bytes(1, "big") + place.to_bytes(4, "big") + index.to_bytes(2, "big")


def _table_entries(count: int) -> bytes:
    return b"/Type /XRef /W [1 4 2] /Index [0 %d] /Size %d /Root 1 0 R " % (count, count)


def _with_table(body: bytes, table: bytes) -> bytes:
    return body + b"9 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF\n" % (table, len(body))


def stream(content: bytes, entries: bytes = b"") -> bytes:
    """A stream object with these entries in its dictionary."""
    return b"<< %s /Length %d >>\nstream\n%s\nendstream" % (entries, len(content), content)


def deflated_zeros(size: int, before: bytes = b"") -> bytes:
    """What zlib makes of a few bytes and that many zeros, without ever having them: one block of a megabyte, repeated."""
    whole, rest = divmod(size, MIB)
    packer = zlib.compressobj(9)
    start = packer.compress(before) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    end = packer.compress(bytes(rest)) + packer.flush(zlib.Z_FINISH)
    high, low = divmod(zlib.adler32(before), 2**16)
    # Adler-32: each zero byte adds the low half to the high one, and leaves the low one as it is.
    checksum = ((high + size * low) % 65521) * 2**16 + low
    return start + block * whole + end[:-4] + checksum.to_bytes(4, "big")
