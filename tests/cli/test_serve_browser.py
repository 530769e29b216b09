"""What a person does with the page, in Debian's Chromium."""

from __future__ import annotations

import json
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.test_serve_pages import SLOW, digest_of, status_of
from tests.papers import EXAMPLE, ROOT, Command, paper
from tests.toys import write_toy, write_toys
from tests.work import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

sync_api = pytest.importorskip("playwright.sync_api", reason="the development extra holds playwright")
CHROMIUM = shutil.which("chromium") or ""
AXE = ROOT / ".venv" / "node_modules" / "axe-core" / "axe.min.js"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="no browser is here; apt-get install chromium"),
]
expect = sync_api.expect
LONG = 120_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    command = Command(folder)
    assert command("run", "--fast", paper(folder)).code == 3
    assert command("run", "--fast", EXAMPLE, "--review", "file", "--id", "waiting").code == 5
    return folder


class Served:
    """A folder with two tasks, a server on it, and windows of the browser."""

    def __init__(self, folder: Path, browser: Browser, **environment: str) -> None:
        self.folder, self.command = folder, Command(folder, **environment)
        self._browser = browser
        self._windows: list[BrowserContext] = []
        self.troubles: list[str] = []
        self.begin()

    def begin(self, port: int = 0) -> None:
        self.process = self.command.start("serve", "--port", str(port))
        assert self.process.stdout
        self.address = self.process.stdout.readline().strip()
        self.base = self.address.partition("/?")[0]

    def window(self, path: str = "/", *, width: int = 1280, dark: bool = False, script: bool = True) -> Page:
        """A window of its own, which knows the key."""
        context = self._browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            java_script_enabled=script,
            accept_downloads=True,
        )
        self._windows.append(context)
        page = context.new_page()
        page.set_default_timeout(LONG)
        page.on("console", lambda said: self.note(said.text, said.location["url"]) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.goto(self.address)
        page.goto(self.base + path)
        return page

    def note(self, told: str, where: str) -> None:
        if not where.endswith("/favicon.ico"):  # which a browser looks for on a page of plain text
            self.troubles.append(f"{told} {where}")

    def end(self) -> None:
        for context in self._windows:
            context.close()
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def served(made: Path, tmp_path: Path, browser: Browser) -> Iterator[Served]:
    folder = tmp_path / "own"
    shutil.copytree(made, folder, symlinks=True)
    serving = Served(folder, browser)
    yield serving
    serving.end()
    assert serving.troubles == [], "nothing was refused by the page's own policy, and no script failed"


def see(page: Page, text: str) -> None:
    expect(page.locator("body")).to_contain_text(text, timeout=LONG)


# Beginning, and watching


def test_a_paper_is_dropped_and_watched_until_it_is_done(served: Served, tmp_path: Path) -> None:
    page = served.window()
    page.get_by_text("New run").click()
    page.set_input_files("input[type=file]", str(paper(tmp_path, name="Dropped.md")))
    page.get_by_label("The plan").select_option("auto")
    page.get_by_role("button", name="Begin").click()
    page.wait_for_url("**/t/Dropped*")
    see(page, "Slow Waiting for Everyone")
    see(page, "incomplete")  # by itself: nobody loads the page again


def test_several_papers_are_dropped_and_are_a_batch_with_its_bill(served: Served, tmp_path: Path) -> None:
    page = served.window()
    page.get_by_text("New run").click()
    files = [str(paper(tmp_path, name=name)) for name in ("First.md", "Second.md")]
    page.get_by_label("several are a batch").set_input_files(files)
    page.get_by_label("The plan").select_option("auto")
    page.get_by_role("button", name="Begin").click()
    row = page.locator("table.batches tbody tr")
    expect(row).to_contain_text("2 papers", timeout=LONG)
    expect(row).to_contain_text("2 incomplete", timeout=2 * LONG)
    row.get_by_role("link").click()
    expect(page.locator("table.tasks tbody tr")).to_have_count(2)


def test_what_is_open_on_an_unfinished_task_has_a_field_that_goes_on(served: Served) -> None:
    page = served.window("/t/paper")
    see(page, "requirements are open")
    page.get_by_label("Have a model plan and write the code").fill("nobody:knows")
    page.locator(".offers").get_by_role("button", name="Resume").click()
    expect(page.get_by_role("status")).to_contain_text("nobody")


def test_what_is_to_be_built_is_typed_in_words(served: Served) -> None:
    page = served.window()
    page.get_by_text("New run").click()
    page.get_by_label("what is to be built").fill("Build a queue that keeps its items. It must survive a crash.")
    page.get_by_role("button", name="Begin").click()
    see(page, "The plan waits for you")


def test_what_cannot_begin_says_why_on_the_page(served: Served) -> None:
    page = served.window()
    page.get_by_text("New run").click()
    page.get_by_label("what is to be built").fill("Build a queue.")
    page.get_by_label("Model").fill("nobody:knows")
    page.get_by_role("button", name="Begin").click()
    expect(page.get_by_role("status")).to_contain_text("nobody")


def test_a_task_that_a_terminal_begins_appears_by_itself(served: Served) -> None:
    page = served.window()
    expect(page.locator("table.tasks tbody tr")).to_have_count(2)
    served.command("run", "--fast", paper(served.folder, name="other.md"))
    expect(page.locator("table.tasks tbody tr")).to_have_count(3, timeout=LONG)


def test_the_list_is_searched_and_filtered(served: Served) -> None:
    page = served.window()
    page.get_by_role("searchbox").fill("waiting")
    page.keyboard.press("Enter")
    expect(page.locator("table.tasks tbody tr")).to_have_count(1)
    page.goto(f"{served.base}/?show=unfinished")
    expect(page.locator("table.tasks tbody")).to_contain_text("Slow Waiting for Everyone")


def test_turns_come_one_by_one_while_the_agent_works(served: Served) -> None:
    journal = served.folder / "tasks" / "paper" / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    replies = [number for number, line in enumerate(lines) if json.loads(line)["kind"] == "reply"]
    journal.write_text("".join(lines[: replies[2]]))
    page = served.window("/t/paper/live")
    expect(page.locator(".turn")).to_have_count(2)
    page.locator(".turn details").first.evaluate("one => one.open = true")
    with journal.open("a") as file:
        file.write("".join(lines[replies[2] : replies[3]]))
    expect(page.locator(".turn")).to_have_count(3, timeout=LONG)
    with journal.open("a") as file:
        file.write("".join(lines[replies[3] :]))
    expect(page.locator(".turn")).to_have_count(len(replies), timeout=LONG)
    assert page.locator(".turn details").first.evaluate("one => one.open"), "what one has opened stays open"
    names = page.locator(".turn").evaluate_all("all => all.map(one => one.id)")
    assert names == sorted(set(names), key=lambda name: int(name.rpartition("-")[2])), "each stands once, in order"


# The plan


def test_a_review_strikes_changes_sees_the_difference_and_approves(served: Served) -> None:
    page = served.window("/t/waiting/plan")
    page.locator("#R7 summary").click()
    page.locator("#R7").get_by_role("button", name="Strike R7").click()
    see(page, "What changed since the version before")
    expect(page.locator("#R7")).to_have_count(0)
    page.locator("#V3 summary").click()
    page.locator("#V3").get_by_label("Value").fill("77")
    page.locator("#V3").get_by_role("button", name="Save").click()
    expect(page.locator("#V3 b").first).to_contain_text("77")
    digest = digest_of(served.folder)
    see(page, digest[:12])
    page.get_by_role("button", name="Approve this plan").click()
    page.wait_for_url(re.compile("/t/waiting([?].*)?$"))
    wait_until(lambda: status_of(served.folder, "waiting") == "incomplete", "the code is written")
    see(page, "incomplete")
    review = json.loads((served.folder / "tasks" / "waiting" / "plan_review.json").read_text())
    assert review["plan_sha256"] == digest


def test_a_row_is_added_to_the_plan(served: Served) -> None:
    page = served.window("/t/waiting/plan")
    page.get_by_text("Add a requirement, or a value").click()
    page.get_by_label("It must").fill("It must log every step.")
    page.get_by_role("button", name="Add").click()
    see(page, "It must log every step.")
    see(page, "added")


def test_a_plan_is_rejected_and_no_code_is_written(served: Served) -> None:
    page = served.window("/t/waiting/plan")
    page.get_by_role("button", name="Reject").click()
    see(page, "reject noted")
    assert not (served.folder / "tasks" / "waiting" / "implementation.json").exists()


def test_another_plan_is_asked_for_and_made(served: Served) -> None:
    page, before = served.window("/t/waiting/plan"), digest_of(served.folder)
    page.get_by_label("What the next plan must change").fill("Report the median as well.")
    page.get_by_role("button", name="Ask for a change").click()
    wait_until(lambda: digest_of(served.folder) != before, "a plan with the wish")
    see(page, "The plan waits for you")
    page.get_by_role("link", name="Look at the plan").click()
    see(page, "Report the median as well.")


def test_the_second_of_two_reviewers_cannot_approve_what_the_first_has_changed(served: Served) -> None:
    first, second = served.window("/t/waiting/plan"), served.window("/t/waiting/plan")
    first.locator("#R7 summary").click()
    first.locator("#R7").get_by_role("button", name="Strike R7").click()
    see(first, "What changed since the version before")
    second.get_by_role("button", name="Approve this plan").click()
    expect(second.get_by_role("status")).to_contain_text(f"the plan is {digest_of(served.folder)[:12]} now")
    assert not (served.folder / "tasks" / "waiting" / "plan_decision.json").exists()


def test_a_row_and_its_words_on_the_page_light_up_together(served: Served) -> None:
    page = served.window("/t/waiting/plan")
    page.locator("#page-1").scroll_into_view_if_needed()
    mark = page.locator('#page-1 rect[data-row="R1"]').first
    expect(mark).to_be_attached(timeout=LONG)
    picture, box = page.locator("#page-1 img").bounding_box(), mark.bounding_box()
    assert picture
    assert box
    assert picture["x"] < box["x"] < picture["x"] + picture["width"]
    page.locator("#R1").hover()
    expect(mark).to_have_class(re.compile("here"))
    mark.click()
    assert page.url.endswith("#R1")


# Stopping, and going on


@pytest.fixture
def slow(tmp_path: Path, browser: Browser) -> Iterator[Served]:
    """A server on a task of which the second phase takes a minute."""
    folder = tmp_path / "slow"
    folder.mkdir()
    toys = write_toys(folder / "toys", 2)
    write_toy(toys, 1, body=SLOW)
    serving = Served(folder, browser, PIPELINE_PHASES=str(toys))
    paper(folder)
    yield serving
    serving.command("stop", "paper")
    serving.end()


def begin_in_page(slow: Served) -> Page:
    page = slow.window()
    page.set_input_files("input[type=file]", str(slow.folder / "paper.md"))
    page.get_by_role("button", name="Begin").click()
    page.wait_for_url("**/t/paper*")
    see(page, "At work")
    return page


def test_a_run_is_stopped_and_resumed(slow: Served) -> None:
    page = begin_in_page(slow)
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("status")).to_contain_text("is stopped", timeout=LONG)
    write_toy(slow.folder / "toys", 1)
    page.get_by_role("button", name="Resume").first.click()
    see(page, "completed")


def test_a_server_that_is_killed_takes_no_run_with_it(slow: Served) -> None:
    begin_in_page(slow)
    slow.process.send_signal(signal.SIGKILL)
    slow.process.communicate()
    slow.begin()
    page = slow.window("/t/paper")
    see(page, "At work")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("status")).to_contain_text("is stopped", timeout=LONG)


def test_a_phase_is_run_again_after_what_that_means_was_read(served: Served) -> None:
    page = served.window("/t/paper")
    page.get_by_text("Run a phase again").click()
    page.get_by_label("From").select_option("05")
    page.get_by_role("button", name="See what that means").click()
    see(page, "generate_code")
    page.get_by_role("button", name="again").click()
    page.wait_for_url("**/t/paper*")
    wait_until(lambda: served.command.attempts("paper")["plan"] == 2, "it was planned again")
    assert (served.folder / "tasks" / "paper" / "generate_code.prev").is_dir()


def test_a_task_is_removed(served: Served) -> None:
    page = served.window("/t/paper")
    page.get_by_text("Remove this task").click()
    page.get_by_role("button", name="Remove paper").click()
    expect(page.get_by_role("status")).to_contain_text("removed")
    assert not (served.folder / "tasks" / "paper").exists()


# Looking


def test_the_trace_shows_what_is_open_and_the_whole_in_a_frame(served: Served) -> None:
    page = served.window("/t/paper/trace")
    see(page, "stubbed")
    page.get_by_role("link", name="Only what is open").click()
    expect(page.locator("section.trace").first).to_be_visible()
    page.locator("#whole").scroll_into_view_if_needed()
    expect(page.frame_locator("iframe").locator("h1")).to_contain_text("Slow Waiting", timeout=LONG)


def test_a_file_is_read_and_saved_and_all_of_them_packed(served: Served) -> None:
    page = served.window("/t/paper/files")
    page.get_by_role("link", name="initial_plan.txt", exact=True).click()
    see(page, "plan_version")
    with page.expect_download() as saved:
        page.get_by_role("link", name="Save it").click()
    assert saved.value.suggested_filename == "initial_plan.txt"
    page.goto(f"{served.base}/t/paper/files")
    with page.expect_download() as packed:
        page.get_by_role("link", name="zip").click()
    assert packed.value.suggested_filename == "paper.zip"


def test_the_log_is_searched_and_the_costs_are_told(served: Served) -> None:
    page = served.window("/t/paper/log")
    page.get_by_label("Find").fill("outline")
    page.get_by_role("button", name="Show").click()
    see(page, "03 outline")
    assert "05 plan" not in page.locator("table.log").inner_text()
    page.goto(f"{served.base}/t/paper/cost")
    see(
        page, "it has cost nothing" if served.command("cost", "paper", "--json").json()["total"]["calls"] == 0 else "$0"
    )


def test_all_of_it_is_read_and_decided_without_javascript(served: Served) -> None:
    page = served.window("/t/waiting/plan", script=False)
    expect(page.locator("#page-1 img")).to_be_visible()
    page.get_by_role("button", name="Approve this plan").click()
    page.wait_for_url(re.compile("/t/waiting([?].*)?$"))
    wait_until(lambda: status_of(served.folder, "waiting") == "incomplete", "the code is written")
    page.reload()
    assert "incomplete" in page.content()


def test_a_person_with_a_keyboard_walks_searches_and_decides(served: Served) -> None:
    page = served.window()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "find"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/t/waiting")
    page.get_by_role("link", name="Look at the plan").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Approve this plan").focus()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"


PAGES = (
    *(
        "/",
        "/t/paper",
        "/t/waiting",
        "/t/waiting/plan",
        "/t/paper/live",
        "/t/paper/trace",
        "/t/paper/results",
        "/t/paper/cost",
    ),
    *("/t/paper/files", "/t/paper/log", "/t/paper/redo?phase=05"),
)


def test_no_page_is_wider_than_its_window(served: Served) -> None:
    for width in (360, 768, 1280, 2560):
        page = served.window(width=width)
        for path in PAGES:
            page.goto(served.base + path)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not here; npm install --no-save --prefix .venv axe-core@4")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious(served: Served, dark: bool) -> None:
    page, source = served.window(dark=dark), AXE.read_text()
    found = {}
    for path in PAGES:
        page.goto(served.base + path)
        page.evaluate(source)
        told = page.evaluate(
            "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']})"
        )
        serious = [
            (row["id"], [node["html"][:160] for node in row["nodes"]][:3])
            for row in told["violations"]
            if row["impact"] in ("serious", "critical")
        ]
        if serious:
            found[path] = serious
    assert found == {}


def test_a_window_without_the_key_is_shown_nothing(served: Served, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{served.base}/t/paper")
    see(page, "Open the address that `pipeline serve` printed")
    assert "Slow Waiting" not in page.content()
    context.close()


def test_a_form_on_another_page_does_nothing_even_with_the_cookie(served: Served) -> None:
    page = served.window()
    key = page.locator('input[name="key"]').first.get_attribute("value")
    page.goto("about:blank")
    page.set_content(
        f'<form method="post" action="{served.base}/t/paper/do"><input name="key" value="{key}">'
        '<input name="action" value="rm"></form>'
    )
    page.evaluate("document.forms[0].submit()")
    see(page, "This came from another page, and so nothing was done.")
    served.troubles.clear()  # the browser tells of the refusal
    assert (served.folder / "tasks" / "paper").is_dir()
