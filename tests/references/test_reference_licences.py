"""Licences told from what the files of a repository say of them; what is not known is said to be not known."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phases.references.fetch.licences import UNKNOWN, licence_of, may_name_a_licence
from tests.strategies import QUICK

DEBIAN = Path("/usr/share/common-licenses")
MIT = """Permission is hereby granted, free of charge, to any person obtaining a
copy of this software … The above copyright notice and this permission notice shall be included …"""
BSD = """Redistribution and use in source and binary forms, with or without … 2. Redistributions in binary form must
   reproduce the above copyright notice … """
ISC = "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted"


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        (MIT, "MIT"),
        (MIT.upper().replace("\n", "\r\n *  "), "MIT"),
        (MIT + " … for non-commercial purposes only", UNKNOWN),
        (BSD, "BSD-2-Clause"),
        (BSD + "nor the names of its contributors may be used to endorse or promote products", "BSD-3-Clause"),
        (BSD + "the noncommercial use of it", UNKNOWN),
        (f"{ISC}, provided that the above copyright notice …", "ISC"),
        (f"{ISC}.", "0BSD"),
        ("Apache License\n  Version 2.0, 2004\n TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION", "Apache-2.0"),
        ("GNU GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007 … GNU Affero General Public License …", "GPL-3.0"),
        ("GNU GENERAL PUBLIC LICENSE\n Version 2, June 1991", "GPL-2.0"),
        ("GNU AFFERO GENERAL PUBLIC LICENSE\n Version 3, 19 November 2007 … the GNU General Public License", "AGPL-3.0"),
        ("GNU LESSER GENERAL PUBLIC LICENSE\n Version 2.1, February 1999 … GNU General Public License", "LGPL-2.1"),
        ("Mozilla Public License Version 2.0\n 1.4. “Covered Software”", "MPL-2.0"),
        ("This is free and unencumbered software released into the public domain.", "Unlicense"),
        ("CC0 1.0 Universal", "CC0-1.0"),
        ("Creative Commons Attribution 4.0 International Public License", "CC-BY-4.0"),
        ("Attribution-NonCommercial 4.0 International", "CC-BY-NC-4.0"),
        ("Attribution-NonCommercial-ShareAlike 4.0 International", "CC-BY-NC-SA-4.0"),
        ("Boost Software License - Version 1.0 - August 17th, 2003", "BSL-1.0"),
        (
            "The origin of this software must not be misrepresented; altered source versions must be plainly marked as such",
            "Zlib",
        ),
        ("DO WHAT THE FUCK YOU WANT TO PUBLIC LICENSE", "WTFPL"),
        ("The Artistic License 2.0 … Standard Version", "Artistic-2.0"),
        ("Eclipse Public License - v 2.0 … Recipient", "EPL-2.0"),
        ("For research only. Ask us first.", UNKNOWN),
        ("", UNKNOWN),
        ("// SPDX-License-Identifier: gpl-2.0-only\n", "GPL-2.0-only"),
        ("/* SPDX-License-Identifier: MIT OR Apache-2.0 */", "MIT OR Apache-2.0"),
        ("SPDX-License-Identifier: LicenseRef-Ours\n", UNKNOWN),
    ],
)  # fmt: skip
def test_a_text_is_recognised(text: str, licence: str) -> None:
    assert licence_of({"LICENSE": text.encode()}) == (licence, "LICENSE")


@pytest.mark.skipif(not DEBIAN.is_dir(), reason="this machine keeps no texts of licences")
@pytest.mark.parametrize(
    ("name", "licence"),
    [
        ("Apache-2.0", "Apache-2.0"), ("BSD", "BSD-3-Clause"), ("CC0-1.0", "CC0-1.0"), ("GPL-2", "GPL-2.0"), ("GPL-3", "GPL-3.0"),
        ("LGPL-2.1", "LGPL-2.1"), ("LGPL-3", "LGPL-3.0"), ("MPL-2.0", "MPL-2.0"), ("GFDL-1.3", UNKNOWN),
    ],
)  # fmt: skip
def test_a_whole_text_is_recognised(name: str, licence: str) -> None:
    if not (DEBIAN / name).is_file():
        pytest.skip(f"{name} is not among the texts of this machine")
    assert licence_of({"COPYING": (DEBIAN / name).read_bytes()})[0] == licence


@pytest.mark.parametrize(
    ("path", "text", "licence"),
    [
        ("pyproject.toml", '[project]\nlicense = "MIT"\n', "MIT"),
        ("pyproject.toml", '[project]\nlicense = {text = "Apache License 2.0"}\n', "Apache-2.0"),
        ("pyproject.toml", '[project]\nlicense = {text = "BSD 3-Clause License"}\n', "BSD-3-Clause"),
        ("pyproject.toml", '[project]\nlicense = {file = "LICENSE"}\n', None),
        ("pyproject.toml", "[project\n", None),
        ("package.json", '{"license": "(MIT OR Apache-2.0)"}', "(MIT OR Apache-2.0)"),
        ("package.json", '{"license": {"type": "ISC"}}', "ISC"),
        ("package.json", '{"license": "UNLICENSED"}', UNKNOWN),
        ("package.json", "[" * 5000, None),
        ("Cargo.toml", '[package]\nlicense = "MIT OR Apache-2.0"\n', "MIT OR Apache-2.0"),
        ("DESCRIPTION", "Package: x\nLicense: GPL (>= 3)\n", "GPL-3.0"),
        ("DESCRIPTION", "License: MIT + file LICENSE\n", "MIT"),
    ],
)
def test_metadata_of_a_package_are_read(path: str, text: str, licence: str | None) -> None:
    assert licence_of({path: text.encode()}) == (licence, path if licence else None)


def test_a_text_counts_more_than_metadata_and_metadata_more_than_a_text_that_is_not_known() -> None:
    package = b'{"license": "ISC"}'
    assert licence_of({"package.json": package, "LICENSE": MIT.encode()}) == ("MIT", "LICENSE")
    assert licence_of({"package.json": package, "LICENSE": b"see package.json"}) == ("ISC", "package.json")
    assert licence_of({"LICENSE-MIT": MIT.encode(), "COPYING": b"?"}) == ("MIT", "LICENSE-MIT")


def test_no_file_is_no_licence() -> None:
    assert licence_of({}) == (None, None)
    assert licence_of({"package.json": b"{}"}) == (None, None)


@pytest.mark.parametrize(
    ("path", "looked_at"),
    [
        ("LICENSE", True), ("licence.md", True), ("COPYING.LESSER", True), ("LICENSE-APACHE", True), ("UNLICENSE", True),
        ("LICENSES/MIT.txt", True), ("pyproject.toml", True), ("license.py", False), ("src/LICENSE", False),
        ("licensing.md", False), ("third_party/package.json", False), ("README.md", False),
    ],
)  # fmt: skip
def test_the_files_that_speak_for_the_whole_are_looked_at(path: str, looked_at: bool) -> None:
    assert may_name_a_licence(path) is looked_at


PATHS = st.sampled_from(["LICENSE", "COPYING", "pyproject.toml", "package.json", "Cargo.toml", "DESCRIPTION"])


@given(
    st.dictionaries(
        PATHS,
        st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "ignore"))),
    )
)
@QUICK
def test_whatever_the_files_hold_there_is_an_answer(files: dict[str, bytes]) -> None:
    licence, path = licence_of(files)
    assert (licence is None) == (path is None)
    assert path is None or path in files
