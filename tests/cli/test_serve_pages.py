"""What the pages show, and that a button starts the command that the terminal has."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from phases.evidence.traceability import describe_evidence
from pipeline.base.files import sha256
from pipeline.base.text_escaping import escape_text
from pipeline.cli.assembly import settings_from
from pipeline.cli.web.exchange import Site, open_site
from pipeline.cli.web.server import ROUTES
from tests.papers import EXAMPLE, ROOT, Command, paper
from tests.toys import write_toys
from tests.web_client import Client, Elements
from tests.work import wait_until

PATHS = [path for method, path, _ in ROUTES if method == "GET"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a task whose code is written, and one whose plan waits."""
    folder = tmp_path_factory.mktemp("made")
    command = Command(folder)
    assert command("run", "--fast", paper(folder)).code == 3
    assert command("run", "--fast", EXAMPLE, "--review", "file", "--id", "waiting").code == 5
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, in which the test stands, with a home of its own."""
    own = tmp_path / "own"
    shutil.copytree(made, own, symlinks=True)
    for name in [name for name in os.environ if name.startswith(("PIPELINE_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(own / "home"))
    monkeypatch.chdir(own)
    return own


@pytest.fixture
def site(folder: Path) -> Site:
    return open_site(settings_from({}))


@pytest.fixture
def client(site: Site) -> Client:
    return Client(site)


def real(path: str, task: str = "paper") -> str:
    return re.sub(r"\{page\}|\{mark\}", "1", path.replace("{task}", task))


def status_of(folder: Path, task: str) -> str:
    report = folder / "tasks" / task / "report.json"
    return str(json.loads(report.read_text())["status"]) if report.exists() else ""


@pytest.mark.slow
def test_the_list_says_what_runs_what_waits_and_what_it_cost(client: Client) -> None:
    shown = Elements(client.get("/").text)
    assert "0 running · 1 waits for you · $0 spent" in shown.text
    assert "its plan is to be approved" in shown.text
    links = [attributes.get("href") for tag, attributes in shown.found if tag == "a"]
    assert links.index("/t/waiting") < links.index("/t/paper"), "what waits for a person comes first"
    assert "/t/waiting/plan" in links


@pytest.mark.parametrize(
    ("query", "there"),
    [
        ("show=waiting", {"waiting"}),
        ("show=unfinished", {"paper"}),
        ("show=running", set()),
        ("find=perceptrons", set()),
        ("find=WAIT", {"waiting"}),
        ("find=stub", {"paper"}),
        ("page=999&show=nonsense", {"paper", "waiting"}),
        ("page=-1", {"paper", "waiting"}),
    ],
)
def test_the_list_is_filtered_and_searched(client: Client, query: str, there: set[str]) -> None:
    shown = Elements(client.get(f"/?{query}").text)
    links = {attributes.get("href", "") for tag, attributes in shown.found if tag == "a"}
    assert {link.removeprefix("/t/") for link in links if re.fullmatch(r"/t/[\w-]+", link)} == there


def test_a_task_of_which_the_list_knows_nothing_is_no_page(client: Client) -> None:
    answered = client.get("/t/nobody")
    assert (answered.status, "There is no such task." in answered.text) == (404, True)


def test_a_damaged_task_is_told_of_and_keeps_no_other_from_the_list(client: Client, folder: Path) -> None:
    (folder / "tasks" / "paper" / "report.json").write_text("{")
    shown = client.get("/").text
    assert "report.json" in shown
    assert "waiting" in shown


def test_the_page_of_a_task_says_what_is_next_as_the_terminal_does(client: Client, folder: Path) -> None:
    shown = Elements(client.get("/t/waiting").text)
    assert "The plan waits for you. No code is written before you approve it." in shown.text
    assert "its plan is to be approved" in shown.text
    shown = Elements(client.get("/t/paper").text)
    assert "up to date" not in shown.text, "nothing would run, and yet it is not done"
    assert re.search(r"\d+ of \d+ requirements are open: see which, and why", shown.text)
    assert ("input", "model") in [(tag, attributes.get("name")) for tag, attributes in shown.found]
    assert "Have a model plan and write the code" in shown.text
    (folder / "tasks" / "paper" / "paper.md").unlink()
    reason = "paper.md is missing"
    assert reason in Command(folder)("why", "paper").out
    shown = Elements(client.get("/t/paper").text)
    assert f"would run: {reason}" in shown.text
    assert "Resume" in shown.text


def test_what_a_redo_means_is_told_before_it_is_done(client: Client, folder: Path) -> None:
    shown = Elements(client.get("/t/paper/redo?phase=05").text)
    assert "05 plan" in shown.text
    assert "09 implement" in shown.text
    assert "generate_code" in shown.text, "what is set aside"
    assert "03 outline" not in shown.text.partition("Run 05")[2]
    assert client.get("/t/paper/redo?phase=99").status == 404
    assert Command(folder).attempts("paper")["plan"] == 1


def test_a_plan_is_shown_when_data_of_the_users_settings_are_gone(folder: Path, client: Client) -> None:
    settings = folder / "home" / ".config" / "pipeline" / "config.yaml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("data: lobby=/nowhere\n")
    page = client.get("/t/waiting/plan")
    assert (page.status, "data lobby names /nowhere, and there is no such" in page.text) == (200, True)


def test_the_plan_shows_each_row_with_its_place_and_what_is_uncertain_first(client: Client) -> None:
    page = client.get("/t/waiting/plan").text
    shown = Elements(page)
    plan = json.loads(json.dumps(client.site.open("waiting").load("initial_plan.txt")))
    ids = {attributes["id"] for _, attributes in shown.found if "id" in attributes}
    assert {row["id"] for row in (*plan["requirements"], *plan["values"], *plan["expected_results"])} <= ids
    assert page.index('id="uncertain"') < page.index('id="page-1"')
    figure = client.get("/t/waiting/figure/1")
    marked = {attributes["data-row"] for tag, attributes in Elements(figure.text).found if tag == "rect"}
    assert {"R1", "R2"} <= marked, "their words were found on the page"
    assert client.get("/t/waiting/sheet/1").body.startswith(b"\x89PNG")


NO_PAGES = ("0", "-1", "5", "99999", "9" * 5000, "1" * 7, "1.0", "1e0", "%D9%A1", "%C2%B9", "x", "1%0A", "+1", "%201")


@pytest.mark.parametrize("route", ["sheet", "figure"])
def test_a_page_that_the_paper_does_not_have_is_not_found_and_starts_no_process(
    route: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []
    monkeypatch.setattr("pipeline.cli.web.plan_page.draw_sheet", lambda source, page: drawn.append(page))
    assert client.site.open("waiting").load("paper.md").front["pages"] == 4
    answers = {number[:9]: client.get(f"/t/waiting/{route}/{number}").status for number in NO_PAGES}
    assert answers == dict.fromkeys(answers, 404)
    assert not drawn


def test_before_there_is_a_plan_its_figures_are_not_found(client: Client, folder: Path) -> None:
    assert client.get("/t/waiting/figure/2").status == 200
    (folder / "tasks" / "waiting" / "initial_plan.txt").unlink()
    assert client.get("/t/waiting/figure/2").status == 404
    (folder / "tasks" / "waiting" / "paper.md").unlink()
    assert client.get("/t/waiting/sheet/2").status == 404


def digest_of(folder: Path, task: str = "waiting") -> str:
    return sha256((folder / "tasks" / task / "initial_plan.txt").read_bytes())


def test_a_row_is_struck_changed_and_added_by_the_same_command(client: Client, folder: Path) -> None:
    first = digest_of(folder)
    struck = client.post("/t/waiting/plan", digest=first, action="strike", id="R7")
    assert struck.status == 303
    second = digest_of(folder)
    set_ = client.post(
        "/t/waiting/plan", digest=second, action="set", id="V3", field__value="77", field__owner="method"
    )
    assert set_.headers["location"].endswith("#V3")
    third = digest_of(folder)
    client.post("/t/waiting/plan", digest=third, action="add", kind="value", text="patience = 12")
    plan = client.site.open("waiting").load("initial_plan.txt")
    assert "R7" not in [row["id"] for row in plan["requirements"]]
    assert next(row["value"] for row in plan["values"] if row["id"] == "V3") == 77
    assert plan["values"][-1]["name"] == "patience"
    assert len({first, second, third, digest_of(folder)}) == 4
    shown = Elements(client.get("/t/waiting/plan").text)
    assert "What changed since the version before" in shown.text
    assert "patience" in shown.text


def test_what_is_typed_as_it_was_changes_nothing(client: Client, folder: Path) -> None:
    before = digest_of(folder)
    row = next(row for row in client.site.open("waiting").load("initial_plan.txt")["values"] if row["id"] == "V3")
    client.post("/t/waiting/plan", digest=before, action="set", id="V3", field__name=row["name"])
    assert digest_of(folder) == before


def test_a_form_of_an_older_plan_changes_nothing_and_approves_nothing(client: Client, folder: Path) -> None:
    old = digest_of(folder)
    client.post("/t/waiting/plan", digest=old, action="strike", id="R7")
    new = digest_of(folder)
    for form in (
        {"action": "approve"},
        {"action": "strike", "id": "R8"},
        {"action": "reject"},
        {"action": "request", "text": "x"},
    ):
        answered = client.post("/t/waiting/plan", digest=old, **form)
        said = Elements(client.get(answered.headers["location"]).text)
        assert f"the plan is {new[:12]} now, not {old[:12]}" in said.text
    assert digest_of(folder) == new
    assert not (folder / "tasks" / "waiting" / "plan_decision.json").exists()


def test_an_approval_is_of_the_plan_that_was_shown_and_the_run_goes_on(client: Client, folder: Path) -> None:
    digest = digest_of(folder)
    answered = client.post("/t/waiting/plan", digest=digest, action="approve")
    assert answered.headers["location"].startswith("/t/waiting")
    wait_until(lambda: status_of(folder, "waiting") == "incomplete", "phase 09 writes the scaffold")
    review = json.loads((folder / "tasks" / "waiting" / "plan_review.json").read_text())
    assert (review["decision"], review["plan_sha256"]) == ("approve", digest)


def test_a_rejected_plan_writes_no_code(client: Client, folder: Path) -> None:
    client.post("/t/waiting/plan", digest=digest_of(folder), action="reject")
    shown = Elements(client.get("/t/waiting/plan").text)
    assert "reject noted" in shown.text
    client.post("/t/waiting/do", action="resume")
    wait_until(lambda: status_of(folder, "waiting") == "cancelled", "the run ends with the rejection")
    assert not (folder / "tasks" / "waiting" / "implementation.json").exists()


@pytest.mark.parametrize(
    "form", [{"digest": "x"}, {"digest": "--approve"}, {"digest": "a" * 64, "action": "strike", "id": "--reject"}, {}]
)
def test_a_form_that_no_page_has_is_refused(client: Client, form: dict[str, str]) -> None:
    assert client.post("/t/waiting/plan", **form).status == 404


def test_a_run_begins_with_a_file_and_its_page_shows_it_to_the_end(client: Client, folder: Path) -> None:
    answered = client.send_file("My paper.md", (folder / "paper.md").read_bytes() + b"\nMore.\n", review="auto")
    place = answered.headers["location"]
    assert place == "/t/My-paper"
    wait_until(lambda: status_of(folder, "My-paper") == "incomplete", "an offline run ends so")
    assert "Slow Waiting for Everyone" in client.get(place).text
    told = Elements(client.get("/").text).text
    assert re.search(r"[1-9][0-9]* of [0-9]+ run by tests", told)
    report = json.loads((folder / "tasks" / "My-paper" / "report.json").read_text())
    for page in (place, f"{place}/trace"):
        assert describe_evidence(report["requirements"], report["verified_by"]) in Elements(client.get(page).text).text


def test_several_files_are_a_batch_with_its_papers_and_its_bill(client: Client, folder: Path) -> None:
    text = (folder / "paper.md").read_bytes()
    files = {"lab/One.md": text + b"\nOne.\n", "lab/Two.md": text + b"\nTwo.\n", "lab/notes.bin": b"\x00"}
    client.send_files(files, review="auto")
    wait_until(lambda: all(is_ended(folder, name) for name in ("One", "Two")), "both papers are done")
    # the list is written after the reports; what is no paper is none of the batch
    wait_until(lambda: "lab 2 papers 2 incomplete $0" in Elements(client.get("/").text).text, "the list says so")
    shown = Elements(client.get("/").text)
    (link,) = {attributes["href"] for _, attributes in shown.found if attributes.get("href", "").startswith("/?batch=")}
    own = Elements(client.get(link).text)
    links = {attributes.get("href") for tag, attributes in own.found if tag == "a"}
    assert {"/t/One", "/t/Two"} <= links
    assert not {"/t/paper", "/t/waiting"} & links
    assert "batch=" in str([attributes.get("hx-get") for _, attributes in own.found]), "it stays these papers"


def is_ended(folder: Path, task: str) -> bool:
    return (folder / "tasks" / task / "report.json").exists() and status_of(folder, task) == "incomplete"


def test_what_cannot_begin_says_why(client: Client) -> None:
    answered = client.post("/new", source="Build a queue.", model="nobody:knows")
    said = Elements(client.get(answered.headers["location"]).text)
    assert "nobody" in said.text
    answered = client.post("/new", source="  ...  ")
    assert "Nothing was started" in client.get(answered.headers["location"]).text


SLOW = '''"""Toy phase {number}."""

import time

from pipeline.engine.phase import Phase


def run(inputs, ctx):
    before = {before}
    ctx.progress(41, 120, "checks the tests")
    time.sleep(60)
    return {{"{name}.json": {{"step": {index}, "text": before}}}}


PHASE = Phase(number="{number}", name="{name}", reads={reads}, writes=("{name}.json",), run=run{more})
'''


def test_a_run_is_stopped_and_goes_on_after_the_server_is_gone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.toys import write_toy

    toys = write_toys(folder / "toys", 2)
    write_toy(toys, 1, body=SLOW)
    monkeypatch.setenv("PIPELINE_PHASES", str(toys))
    command = Command(folder, PIPELINE_PHASES=str(toys))
    with command.start("run", "paper.md", "--id", "slow") as process:
        wait_until(lambda: (folder / "tasks" / "slow" / "toy00.json").exists(), "the first phase is done")
        client = Client(open_site(settings_from({})))
        assert "At work" in client.get("/t/slow/now").text
        wait_until(
            lambda: "41 of 120: checks the tests" in client.get("/t/slow/now").text, "what it does is on the page"
        )
        assert "running  0.00     1     41 of 120: checks the tests" in command("status", "slow").out
        busy = client.post("/t/slow/do", action="resume")
        assert "in use by" in Elements(client.get(busy.headers["location"]).text).text
        answered = client.post("/t/slow/do", action="stop")
        assert process.wait(30) == 128 + 15
        assert "is stopped" in client.get(answered.headers["location"]).text
    assert status_of(folder, "slow") == "cancelled"
    assert "41 of 120" not in command("status", "slow").out
    write_toy(toys, 1)
    Client(open_site(settings_from({}))).post("/t/slow/do", action="resume")
    wait_until(lambda: status_of(folder, "slow") == "completed", "another start of the server goes on")


def test_a_task_cannot_name_the_process_that_a_stop_ends(folder: Path) -> None:
    import fcntl
    import subprocess
    import sys

    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        with (folder / "tasks" / "paper" / ".lock").open("w+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lock.write(json.dumps({"pid": other.pid}))
            lock.flush()
            ended = Command(folder)("stop", "paper")
        assert ended.code == 2
        assert "cannot be stopped from here" in ended.complaints[0]
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
    assert "pipeline resume paper" in Command(folder)("stop", "paper").complaints[0]


def test_a_task_is_removed_when_its_button_is_pressed(client: Client, folder: Path) -> None:
    assert client.post("/t/paper/do", action="rm").headers["location"].startswith("/?said=")
    assert not (folder / "tasks" / "paper").exists()


@pytest.mark.parametrize("limit", ["--unsandboxed", "--max-usd 5 --unsandboxed", "--model evil", "--max-usd $(id)"])
def test_a_limit_that_a_task_names_is_a_limit_and_nothing_else(client: Client, folder: Path, limit: str) -> None:
    report = folder / "tasks" / "paper" / "report.json"
    report.write_text(json.dumps({**json.loads(report.read_text()), "resume_with": limit}))
    (folder / "tasks" / "paper" / "outline.json").unlink()
    shown = Elements(client.get("/t/paper").text)
    assert [attributes for _, attributes in shown.found if attributes.get("name") == "limit"] == []
    answered = client.post("/t/paper/do", action="resume", limit=limit)
    assert (answered.status, "not a limit" in answered.text) == (400, True)


# What is shown is hostile

# fmt: off
PAYLOADS = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>",
    '"><script>alert(1)</script>', "'><img src=x onerror=alert(1)>", "</title><script>alert(1)</script>",
    "</textarea><script>alert(1)</script>", "</pre><script>alert(1)</script>", "</style><script>alert(1)</script>",
    "<iframe srcdoc='<script>alert(1)</script>'>", "<a href=javascript:alert(1)>x</a>",
    "<a href='data:text/html,<script>alert(1)</script>'>x</a>", "<base href=//evil.example>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>", "<link rel=stylesheet href=//evil.example/x.css>",
    "<form action=//evil.example><button>x</button></form>", "<object data=//evil.example></object>",
    "<embed src=//evil.example>", "<math><mtext><script>alert(1)</script></mtext></math>",
    "<svg><script>alert(1)</script></svg>", "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<details open ontoggle=alert(1)>", "<input autofocus onfocus=alert(1)>",
    "<div hx-get=/t/paper/do hx-trigger=load>", "<div hx-on:load=alert(1)>", "<div sse-connect=//evil.example>",
    "<b style=position:fixed>", "{{ 7 * 191 }}",
    "{% for x in ().__class__.__base__.__subclasses__() %}{{ x }}{% endfor %}", "{{ config }}${7*191}", "#{7*191}",
    "<!--><script>alert(1)</script>-->", "<![CDATA[<script>alert(1)</script>]]>", "<ScRiPt>alert(1)</sCrIpT>",
    "<script\t>alert(1)</script\n>", "\u202e<script>alert(1)</script>", "<\u200bscript>alert(1)</script>",
    "＜script＞alert(1)＜/script＞", "&lt;script&gt;alert(1)&lt;/script&gt;", "<x onclick=alert(1)>",
    '<noscript><p title="</noscript><img src=x onerror=alert(1)>">', "javascript:alert(1)//",
]
ELEMENTS = set(re.findall(r"\S+", """
    html head meta title link script body a header span main p h1 h2 h3 h4 h5 h6 mark div nav ul ol li details summary form input
    label textarea select option datalist button table thead tbody tr th td small i b dl dt dd svg path g rect text circle line
    math mrow mi mn mo ms mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover mtable mtr mtd mstyle
    section article figure noscript img iframe pre code blockquote q br figcaption
"""))
ATTRIBUTES = set(re.findall(r"\S+", """
    lang charset name content rel href src defer class id role hx-ext hx-get hx-trigger hx-swap hx-swap-oob sse-connect tabindex
    aria-label title aria-current aria-hidden aria-live method action enctype type value list placeholder autocomplete
    inputmode pattern rows accept scope data-label data-n data-row for open selected viewbox width height d x y rx
    sandbox loading required alt text-anchor cx cy r x1 x2 y1 y2
    multiple webkitdirectory display stretchy mathvariant fence form columnalign
"""))
# fmt: on


def plant(folder: Path, payload: str) -> None:
    """Puts a text wherever a paper, a model, a command or a file name could."""
    task = folder / "tasks" / "paper"

    def replace(value: Any) -> Any:
        return f"{value} {payload}" if isinstance(value, str) else value

    outline = json.loads((task / "outline.json").read_text())
    (task / "outline.json").write_text(json.dumps({**outline, "title": payload}))
    report = json.loads((task / "report.json").read_text())
    (task / "report.json").write_text(json.dumps({**report, "reason": payload}))
    trace = json.loads((task / "traceability.json").read_text())
    judged = {"verdict": "differs", "by": payload, "file": payload, "line": 1, "sentence": payload}
    told = {"text": payload, "note": payload, "judged": judged}
    trace["requirements"] = [{**row, **told} for row in trace["requirements"]]
    (task / "traceability.json").write_text(json.dumps(trace))
    import yaml

    plan = yaml.safe_load((task / "initial_plan.txt").read_text())
    plan["paper"] = {name: replace(value) for name, value in plan["paper"].items()}
    for row in plan["requirements"]:
        row.update(text=payload, source={**row["source"], "quote": payload})
    for row in plan["values"]:
        row.update(name=payload, owner=payload)
    (task / "initial_plan.txt").write_text(yaml.safe_dump(plan, allow_unicode=True))
    name = re.sub(r"[/\x00]", "_", payload)[:80]
    (task / "generate_code" / name).write_text(f"# R1\n{payload}\n")
    with (task / "logs" / "system.jsonl").open("a") as log:
        log.write(
            json.dumps({"seq": 9, "at": payload, "level": "INFO", "message": payload, "traceback": payload}) + "\n"
        )
    (task / "logs" / "words.jsonl").write_text(json.dumps({"who": payload, "text": payload}) + "\n")
    from tests.supervised import Log

    said = Log().add(1, "recover", "hint:no_progress", text=payload).add(2, "recover", payload)
    (task / "kernel").mkdir(exist_ok=True)
    (task / "kernel" / "supervisor-events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in said.lines))
    rows = [json.loads(line) for line in (task / "journal.jsonl").read_text().splitlines()]
    for row in rows:
        if row["kind"] == "reply":
            row["result"]["text"] = payload
            for call in row["result"]["calls"]:
                call["arguments"] = {key: replace(value) for key, value in call["arguments"].items()}
        elif row["kind"] == "result":
            row["result"]["text"] = payload
    (task / "journal.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    batch = {"version": 1, "at": payload, "name": payload, "sources": [payload]}
    (folder / "tasks" / "batches.jsonl").write_text(json.dumps(batch) + "\n{\n" + json.dumps([payload]) + "\n")
    with (folder / "tasks" / "tasks.jsonl").open("a") as listed:
        row = {"version": 1, "id": "paper", "at": "2026-01-01T00:00:00Z", "status": "error", "mode": "fast"}
        listed.write(json.dumps({**row, "source": payload, "reason": payload}) + "\n")


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(" ".join(PAYLOADS), id="all at once"),
        *(pytest.param(one, marks=pytest.mark.slow) for one in PAYLOADS),
    ],
)
def test_hostile_text_is_text_on_every_page(folder: Path, payload: str) -> None:
    plant(folder, payload)
    plain = escape_text(payload)
    client = Client(open_site(settings_from({})))
    files = re.findall(r"/t/paper/file/[0-9a-f]{16}", client.get("/t/paper/files").text)
    pages = [real(path) for path in PATHS if "{mark}" not in path and not path.endswith(("panes", "zip", "redo"))]
    seen: set[str] = set()
    for path in [*pages, *sorted(set(files)), "/t/paper/redo?phase=05", f"/?find={'%3Cb%3E'}"]:
        answered = client.get(path)
        assert answered.status == (404 if re.search("/(sheet|figure)/", path) else 200), path
        if not answered.headers["content-type"].startswith("text/html"):
            continue
        shown = Elements(answered.text)
        if plain in " ".join(shown.words):
            seen.add(path.rpartition("/")[2])
        for tag, attributes in shown.found:
            assert tag in ELEMENTS, (path, tag)
            assert set(attributes) <= ATTRIBUTES, (path, tag, attributes)
            assert attributes.get("src", "/").startswith("/"), (path, attributes)
            assert re.match(r"/|#|$", attributes.get("href", "/")), (path, attributes)
            assert attributes.get("action", "/").startswith("/"), (path, attributes)
        assert "/file/" in path or "1337" not in shown.text, "no template is made of a text"
        assert "\u202e" not in answered.text
    assert {"tasks", "paper", "plan", "live", "turns", "trace", "files", "log"} <= seen, "it is shown, as text"


def test_the_papers_tables_stand_beside_ours_with_a_verdict_for_each_cell(client: Client, folder: Path) -> None:
    assert "pipeline reproduce paper" in client.get("/t/paper/results").text
    example = json.loads((ROOT / "schemas" / "results.schema.json").read_text())["examples"][0]
    (folder / "tasks" / "paper" / "results.json").write_text(json.dumps(example))
    shown = Elements(client.get("/t/paper/results").text)
    assert re.search(r"AP Error 19.95±1.27 20.11±1.02 0.16 [0-9.]+ reproduced labels held back", shown.text)
    assert [tag for tag, _ in shown.found].count("circle") == sum(cell["ours"] is not None for cell in example["cells"])


def test_the_check_that_does_not_pass_stands_above_the_turns(client: Client) -> None:
    page = client.get("/t/paper/live").text
    assert page.index("This check does not pass: internal:code") < page.index('id="turn-1"')


def test_each_attempt_and_what_the_supervisor_said_stand_beside_their_turns(client: Client, folder: Path) -> None:
    from tests.supervised import report, takeover_log, write_files

    write_files(folder / "tasks" / "paper", takeover_log().lines, told=report(stopReason="user_checkpoint"))
    shown = Elements(client.get("/t/paper/live").text)
    assert re.search(r"Acceptance Turn \d+ : not accepted by internal:code", shown.text)
    assert "turn 10 takeover" in shown.text
    assert "turn 14" in shown.text, "when it was handed back"
    assert "At end the model leads, and every call is executed" in shown.text
    assert "pipeline resume paper" in shown.text
    links = {attributes.get("href") for tag, attributes in shown.found if tag == "a"}
    assert "#turn-10" in links


def test_a_task_of_a_stranger_is_called_one_and_its_settings_do_not_hold(folder: Path) -> None:
    path = folder / "tasks" / "paper" / "task.json"
    task = json.loads(path.read_text())
    opened = {**task["settings"], "sandbox": "off", "install": "allowed"}
    path.write_text(json.dumps({**task, "settings": opened, "source": "/etc/passwd"}))
    client = Client(open_site(settings_from({})))
    shown = Elements(client.get("/t/paper").text)
    assert "was not started here, or its task.json was changed" in shown.text
    client.post("/t/paper/do", action="redo", phase="01")
    wait_until(lambda: Command(folder).attempts("paper")["outline"] == 2, "its own copy of the paper is read again")
    assert "Slow Waiting" in (folder / "tasks" / "paper" / "paper.md").read_text()
    assert not any("root:" in client.get(real(path)).body.decode("latin-1") for path in PATHS)


def test_a_long_list_is_turned_over_page_by_page(folder: Path) -> None:
    listed = folder / "tasks" / "tasks.jsonl"
    rows = []
    for number in range(60):
        shutil.copytree(folder / "tasks" / "paper", folder / "tasks" / f"paper-{number}", symlinks=True)
        rows.append({"version": 1, "id": f"paper-{number}", "at": f"2026-01-01T00:00:{number:02}Z", "status": "error"})
    with listed.open("a") as file:
        file.writelines(json.dumps({**row, "mode": "fast", "source": "x", "reason": "y"}) + "\n" for row in rows)
    client = Client(open_site(settings_from({})))
    seen: set[str] = set()
    for page in (1, 2, 3):
        found = set(re.findall(r'href="/t/([\w-]+)"', client.get(f"/?page={page}").text))
        assert not found & seen
        seen |= found
    assert len(seen) == 62
