"""What of the user's machine commands see when the user says so: data to read, graphics cards to use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from phases.agent.session import machine_facts
from phases.sandbox.box import BUBBLEWRAP, LANDLOCK, Box, with_machine
from phases.sandbox.bubblewrap import wrap_command
from phases.sandbox.commands import run_command
from phases.sandbox.devices import check_gpu, find_devices, parse_data, why_not_one_data_set
from phases.sandbox.landlock import landlock_words
from phases.sandbox.probe import probe_kind
from pipeline.base.errors import UsageError
from tests.papers import HANGS

KINDS = [
    pytest.param(kind, marks=pytest.mark.skipif(not probe_kind(kind).usable, reason=probe_kind(kind).detail))
    for kind in (BUBBLEWRAP, LANDLOCK)
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "my data"
    folder.mkdir()
    (folder / "train.csv").write_text("1,2\n")
    return folder


def box_with(tmp_path: Path, kind: str, setting: str) -> Box:
    workspace = tmp_path / "workspace"
    workspace.mkdir(exist_ok=True)
    return with_machine(Box(str(workspace), kind), {"data": setting})


@pytest.mark.parametrize("kind", KINDS)
def test_data_is_there_to_be_read_and_never_written(tmp_path: Path, data: Path, kind: str) -> None:
    box = box_with(tmp_path, kind, f"my-set={data}")
    read = run_command(box, 'cat "$DATA_MY_SET/train.csv"', seconds=HANGS)
    assert (read.exit_code, read.output) == (0, "1,2\n")
    for attack in ('echo 3 > "$DATA_MY_SET/train.csv"', 'rm "$DATA_MY_SET/train.csv"', ': > "$DATA_MY_SET/new"'):
        assert run_command(box, attack, seconds=HANGS).exit_code not in (0, None)
    assert sorted(os.listdir(data)) == ["train.csv"]
    assert (data / "train.csv").read_text() == "1,2\n"


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_beside_the_data_is_seen(tmp_path: Path, data: Path, kind: str) -> None:
    (tmp_path / "secret").write_text("4711")
    (data / "way_out").symlink_to(tmp_path / "secret")
    box = box_with(tmp_path, kind, f"set={data}")
    finished = run_command(box, f"cat $DATA_SET/way_out $DATA_SET/../secret '{tmp_path}/secret'", seconds=HANGS)
    assert finished.exit_code == 1
    assert "4711" not in finished.output


@pytest.mark.skipif(not probe_kind(BUBBLEWRAP).usable, reason=probe_kind(BUBBLEWRAP).detail)
def test_in_bubblewrap_data_lies_under_its_name(tmp_path: Path, data: Path) -> None:
    finished = run_command(box_with(tmp_path, BUBBLEWRAP, f"set={data}"), "ls /data /data/set", seconds=HANGS)
    assert finished.output == "/data:\nset\n\n/data/set:\ntrain.csv\n"


@pytest.mark.parametrize(
    "setting",
    ["mnist", "=x", "../up=/", "a b=/", "mnist=/nowhere/at/all", "a-b=/usr:a_b=/bin", "mnist=/usr:mnist=/bin"],
)
def test_what_is_no_name_with_a_folder_is_refused(setting: str) -> None:
    with pytest.raises(UsageError, match="data"):
        parse_data(setting)


def test_an_address_that_is_not_fetched_is_told_to_be_one() -> None:
    assert "only addresses with https:// and http:// are fetched" in why_not_one_data_set("x=ftp://example.org/a.csv")
    assert why_not_one_data_set("x=HTTPS://example.org/a.csv") == ""
    assert "holds a ':'" in why_not_one_data_set("x=/a:/b")


@pytest.mark.parametrize("setting", ["", "all", "-1", "0,", "0;1", "999", "0 1"])
def test_what_names_no_card_is_refused(setting: str) -> None:
    with pytest.raises(UsageError, match="--gpu takes none, auto, or numbers like 0,1"):
        check_gpu(setting)


@pytest.fixture
def cards(tmp_path: Path) -> Path:
    folder = tmp_path / "dev"
    (folder / "nvidia-caps").mkdir(parents=True)
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "sda", "mem"):
        (folder / name).write_text("")
    return folder


def test_all_cards_or_those_with_the_numbers_are_seen_with_what_all_need(cards: Path) -> None:
    def seen(setting: str) -> list[str]:
        return [os.path.basename(path) for path in find_devices(setting, str(cards))]

    shared = ["nvidiactl", "nvidia-uvm", "nvidia-caps"]
    assert seen("auto") == ["nvidia0", "nvidia1", *shared]
    assert seen("1") == ["nvidia1", *shared]
    assert seen("none") == []
    assert seen("7") == []


def test_a_machine_without_a_card_gives_none(tmp_path: Path) -> None:
    (tmp_path / "dri").mkdir()  # a screen alone is no card to compute with
    assert find_devices("auto", str(tmp_path)) == ()


def test_a_card_is_bound_and_allowed_in_both_sandboxes_and_told_to_the_model(cards: Path, tmp_path: Path) -> None:
    devices = find_devices("0", str(cards))
    box = Box(str(tmp_path), BUBBLEWRAP, devices=devices, gpu="0")
    words = wrap_command(box, ["/usr/bin/python3"], ["true"])
    places = [words.index(path) for path in devices]
    assert all(words[place - 1] == "--dev-bind" for place in places)
    assert max(places) < words.index("--remount-ro")
    rules = landlock_words(box._replace(kind=LANDLOCK), str(tmp_path), ())
    assert not rules or sum(rule.endswith(devices[0]) for rule in rules) == 1
    assert "nvidia0" in machine_facts(box)["gpu"]
    assert machine_facts(Box(str(tmp_path), BUBBLEWRAP))["gpu"] == "none that a command can use"
