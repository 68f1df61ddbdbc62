"""Every page in a real browser: accessible, within its width, in both themes and languages, from our own host alone."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Page, expect

from jobs.models import Job
from jobs.states import Phase, State
from tests.browser import bench

os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")  # Playwright's loop runs in the thread of the test
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]
ROOT = Path(__file__).resolve().parents[2]
AXE = (ROOT / "node_modules" / "axe-core" / "axe.min.js").read_text()
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
LEAVES = """() => {
  const inside = (one, panel) => { // what scrolls in a frame of its own may be as wide as it likes
    for (let at = one.parentElement; at !== panel; at = at.parentElement) {
      if (/auto|scroll/.test(getComputedStyle(at).overflowX)) return true;
    }
    const [own, its] = [one.getBoundingClientRect(), panel.getBoundingClientRect()];
    return !own.width || (own.left >= its.left - 1 && own.right <= its.right + 1);
  };
  return [...document.querySelectorAll("main .panel")].flatMap((panel) => [...panel.querySelectorAll("*")]
    .filter((one) => one.checkVisibility() && !one.closest("svg *, caption, .visually-hidden, .submit-bar, .confirm__box"))
    .filter((one) => !inside(one, panel)).map((one) => `${one.tagName} ${one.textContent.trim().slice(0, 40)}`));
}"""
FIRST_VIEW = 120_000  # bytes, gzip: scripts and style sheets of one page, without the editor

PAGES: list[tuple[str, str]] = [  # who, address
    ("researcher", "/"),
    ("researcher", "/jobs/"),
    ("researcher", "/jobs/new"),
    ("researcher", "/jobs/{train-unet-v3}"),
    ("researcher", "/jobs/{train-unet-v4}"),
    ("researcher", "/jobs/{check-arrival}"),
    ("researcher", "/jobs/{prepare}?tab=request"),
    ("pi", "/jobs/{eval-atlas}?tab=events"),
    ("researcher", "/projects/"),
    ("pi", "/projects/seg-rm"),
    ("pi", "/projects/seg-rm/trail"),
    ("pi", "/projects/seg-rm/people"),
    ("pi", "/projects/seg-rm/people/ana"),
    ("newcomer", "/projects/"),
    ("newcomer", "/ask/project"),
    ("operator", "/operate/projects"),
    ("operator", "/operate/projects/new"),
    ("operator", "/operate/requests"),
    ("operator", "/projects/seg-rm/edit"),
    ("operator", "/projects/seg-rm/archive"),
    ("researcher", "/datasets/"),
    ("pi", "/datasets/torax"),
    ("researcher", "/datasets/torax"),
    ("newcomer", "/datasets/torax/ask"),
    ("researcher", "/datasets/torax/terms"),
    ("pi", "/datasets/torax/edit"),
    ("pi", "/data/stewardship"),
    ("pi", "/data/processing"),
    ("pi", "/projects/seg-rm/new-agreement"),
    ("operator", "/incidents/"),
    ("operator", "/incidents/new"),
    ("researcher", "/cluster/"),
    ("auditor", "/audit/"),
    ("newcomer", "/"),
    ("newcomer", "/jobs/new"),
    ("researcher", "/sessions"),
    ("researcher", "/tokens"),
    ("researcher", "/preferences"),
    ("researcher", "/help"),
    ("researcher", "/nothing-here"),
    ("researcher", "/jobs/import"),
    ("researcher", "/jobs/notices"),
    ("researcher", "/jobs/{train-unet-v3}?tab=gpus"),
    ("researcher", "/presets/"),
    ("operator", "/presets/new"),
    ("researcher", "/software/"),
    ("operator", "/software/new"),
    ("operator", "/dictionary"),
    ("operator", "/operate/differences"),
    ("operator", "/operate/dry-run"),
    ("pi", "/ask/"),
    ("newcomer", "/ask/"),
    ("pi", "/projects/seg-rm/allocations/main"),
    ("pi", "/projects/seg-rm/allocations/main/shares"),
    ("operator", "/cluster/operate"),
    ("operator", "/cluster/nodes/gpu01"),
    ("pi", "/projects/seg-rm/new-request"),
    ("pi", "/projects/seg-rm/new-funding"),
    ("operator", "/projects/seg-rm/new-allocation"),
    ("pi", "/projects/seg-rm/new-dataset"),
    ("auditor", "/audit/exports"),
    ("auditor", "/audit/access"),
    ("auditor", "/audit/verify"),
    ("auditor", "/audit/retention"),
    ("operator", "/audit/retention"),
    ("auditor", "/audit/guests"),
    ("operator", "/audit/guests"),
    ("auditor", "/audit/holds"),
    ("operator", "/audit/holds"),
    ("auditor", "/audit/seals"),
    ("auditor", "/audit/people"),
    ("auditor", "/audit/people/ana"),
    ("operator", "/audit/people/novo/pseudonymise"),
    ("auditor", "/audit/events/{event}"),
    ("auditor", "/audit/exports/new"),
    ("auditor", "/audit/exports/{export}"),
    ("guest", "/audit/"),
    ("guest", "/audit/events/{event}"),
    ("guest", "/audit/exports"),
    ("auditor", "/audit/access?at=2026-01-01&dataset=torax"),
    ("", "/sign-in"),
]


class Visit:
    """A context of the browser with a person's session; it keeps what went wrong."""

    def __init__(self, browser: Browser, live: Any, built: bench.Bench, **looks: Any) -> None:
        self.live, self.built, self.wrong = live, built, []  # type: tuple[Any, bench.Bench, list[str]]
        self.context: BrowserContext = browser.new_context(**looks)
        self.page: Page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.wrong.append(f"{self.page.url}: {error}"))
        self.page.on("request", lambda asked: self.abroad(asked.url))
        self.page.on("console", lambda said: self.heard(said.text))

    def abroad(self, url: str) -> None:
        if not url.startswith((self.live.url, self.live.url.replace("http", "ws"), "data:", "blob:")):
            self.wrong.append(f"{self.page.url} asks {url}")

    def heard(self, text: str) -> None:
        if "Content Security Policy" in text or "htmx:" in text:
            self.wrong.append(f"{self.page.url}: {text}")

    def open(self, who: str, address: str, language: str) -> None:
        """Go there as this person, in this language."""
        self.page.goto(self.where(who, address, language))
        self.page.wait_for_timeout(150)

    def fetched(self, who: str, address: str, language: str) -> str:
        """The page's HTML as it was sent, not drawn."""
        return str(self.context.request.get(self.where(who, address, language)).text())

    def where(self, who: str, address: str, language: str) -> str:
        """The whole address, with the person's session and language set."""
        self.context.clear_cookies()
        cookies = [{"name": "django_language", "value": language, "url": self.live.url}]
        if who:
            cookies.append({"name": "session", "value": self.built.sessions[who], "url": self.live.url})
        self.context.add_cookies(cookies)  # type: ignore[arg-type]
        return str(self.live.url) + re.sub(r"\{(.*?)\}", lambda found: self.built.key(found.group(1)), address)


@pytest.fixture
def built(live_server: Any) -> bench.Bench:
    """The seeded portal."""
    return bench.build()


@pytest.fixture
def visit(browser: Browser, live_server: Any, built: bench.Bench) -> Iterator[Any]:
    """Makes visits; at the end none of them may have gone wrong."""
    visits: list[Visit] = []

    def start(**looks: Any) -> Visit:
        visits.append(Visit(browser, live_server, built, **looks))
        return visits[-1]

    yield start
    for one in visits:
        one.context.close()
    assert [wrong for one in visits for wrong in one.wrong] == []


def violations(page: Page, tags: list[str]) -> list[str]:
    """What axe finds, as "rule: where"."""
    page.evaluate(AXE)
    found = page.evaluate("(tags) => axe.run(document, {runOnly: tags, resultTypes: ['violations']})", tags)
    return [f"{rule['id']}: {node['target']}" for rule in found["violations"] for node in rule["nodes"]]


def test_pages_are_accessible_in_both_themes(visit: Any) -> None:
    screen = visit(viewport={"width": 1440, "height": 900}, color_scheme="light", reduced_motion="reduce")
    page, bad = screen.page, []
    for who, address in PAGES:
        screen.open(who, address, "pt-br")
        assert page.locator("main h1").count() == 1, address
        bad += [f"{address}: {found}" for found in violations(page, TAGS)]
        page.evaluate("document.documentElement.dataset.bsTheme = 'dark'")
        bad += [f"{address}, dark: {found}" for found in violations(page, ["wcag2aa"])]
    assert not bad, "\n".join(bad)


def test_nothing_scrolls_sideways_from_a_phone_to_a_wall(visit: Any) -> None:
    screen = visit(viewport={"width": 360, "height": 780})
    over = []
    for who, address in PAGES:
        screen.open(who, address, "pt-br")
        over += [f"{address} on a phone: {found}" for found in violations(screen.page, ["wcag2a", "wcag22aa"])]
        over += outside(screen.page, address)
        for width in (360, 768, 1024, 3840):
            screen.page.set_viewport_size({"width": width, "height": 780})
            by = screen.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            over += [f"{address} at {width}: {by} px"] if by > 0 else []
        screen.page.set_viewport_size({"width": 360, "height": 780})
    assert not over, "\n".join(over)


def outside(page: Page, address: str) -> list[str]:
    """What a panel's edge cuts off, or what stands beyond it: it makes no page scroll."""
    return [f"{address} leaves its panel: {found}" for found in page.evaluate(LEAVES)[:3]]


def test_on_a_phone_in_english_nothing_leaves_its_panel_and_the_first_view_is_light(visit: Any) -> None:
    screen, out = visit(viewport={"width": 360, "height": 780}), []
    sizes: dict[str, dict[str, int]] = {}
    bodies: dict[str, bytes] = {}
    screen.page.on("requestfinished", lambda asked: bodies.__setitem__(asked.url, asked.response().body()))
    for who, address in PAGES:
        bodies.clear()
        screen.open(who, address, "en")
        out += outside(screen.page, address)
        sizes[address] = {
            url.rsplit("/", 1)[-1]: len(gzip.compress(body, 9))
            for url, body in bodies.items()
            if re.search(r"\.(js|css)$", url) and "codemirror" not in url
        }
    for address, files in sizes.items():
        print(f"{address:32} {len(files):3} files {sum(files.values()) / 1000:7.1f} kB gzip")
    assert 0 < max(sum(files.values()) for files in sizes.values()) <= FIRST_VIEW
    screen.open("researcher", "/", "en")
    screen.page.evaluate("document.querySelector('main .panel h2').style.minWidth = '400px'")
    assert out == [] and outside(screen.page, "a thing that is too wide"), "\n".join(out)


def test_no_page_holds_a_style_attribute_or_an_inline_script(visit: Any) -> None:
    screen = visit(viewport={"width": 1440, "height": 900})
    for who, address in PAGES:
        html = screen.fetched(who, address, "en")
        assert "<main" in html, address
        assert " style=" not in html, address
        assert re.findall(r"<script(?=[\s>])(?![^>]*\bsrc=)(?![^>]*application/json)", html) == [], address
        assert re.findall(r"\son\w+=", re.sub(r"(?s)<script.*?</script>", "", html)) == [], address


def test_the_rail_by_keyboard_alone(visit: Any) -> None:
    screen = visit(viewport={"width": 1440, "height": 900})
    screen.open("researcher", "/", "en")
    page = screen.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.keyboard.press("g")
    page.keyboard.press("j")
    page.wait_for_url("**/jobs/")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.matches('[data-rows] .name')")
    page.keyboard.press("?")
    assert page.locator("#keys").get_attribute("open") is not None
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    page.wait_for_url("**/jobs/new**")


def test_the_theme_and_the_language_are_kept(visit: Any) -> None:
    screen = visit(viewport={"width": 1440, "height": 900}, color_scheme="light")
    screen.open("researcher", "/", "pt-br")
    page = screen.page
    assert page.evaluate("document.documentElement.lang") == "pt-br"
    page.locator("[data-theme-toggle]").click()
    page.reload()
    assert page.evaluate("document.documentElement.dataset.bsTheme") == "dark"
    page.get_by_role("button", name="English").first.click()
    page.wait_for_load_state()
    assert page.evaluate("document.documentElement.lang") == "en"
    page.goto(screen.live.url + "/jobs/")
    assert page.evaluate("document.documentElement.lang") == "en"


def test_the_submit_form_guides_and_counts(visit: Any) -> None:
    screen = visit(viewport={"width": 1440, "height": 900})
    screen.open("researcher", "/jobs/new", "en")
    page = screen.page
    page.locator("script-editor.is-ready").wait_for()
    page.select_option("[name=partition]", "large")
    assert page.locator("[name=gpu_type]:checked").get_attribute("value") == "h100"
    page.fill("[name=gpus]", "8")
    page.fill("[name=time_limit_minutes]", "90")
    expect(page.locator("[data-part=cost]")).to_have_text("12")
    page.fill("[name=gpus]", "9")
    assert page.locator("[data-limit=gpus]").get_attribute("class") == "field__help is-over"
    page.select_option("[name=partition]", "prep")
    assert page.input_value("[name=gpus]") == "0"
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.type("echo typed")
    assert page.evaluate("document.querySelector('script-editor textarea').value").endswith("echo typed")


def test_cancelling_asks_once_more_beside_the_button(visit: Any, built: bench.Bench) -> None:
    screen = visit(viewport={"width": 360, "height": 780})
    screen.open("researcher", "/jobs/{train-unet-v3}", "en")
    page = screen.page
    page.locator("details.confirm > summary", has_text="Cancel").click()
    page.keyboard.press("Escape")
    assert page.locator("details.confirm[open]").count() == 0
    page.locator("details.confirm > summary", has_text="Cancel").click()
    page.get_by_role("button", name="Yes, cancel it").click()
    page.wait_for_load_state()
    built.jobs["train-unet-v3"].refresh_from_db()
    assert built.jobs["train-unet-v3"].cancel_asked_at is not None


def test_the_list_follows_its_filters_without_a_reload(visit: Any) -> None:
    screen = visit(viewport={"width": 1440, "height": 900})
    screen.open("researcher", "/jobs/", "en")
    page = screen.page
    page.evaluate("window.stayed = true")
    page.locator("#f-q").press_sequentially("unet")
    page.wait_for_url("**q=unet**")
    rows = page.locator("#jobs-table tbody tr")
    expect(rows).to_have_count(2)
    page.select_option("#f-state", "running")
    expect(rows).to_have_count(1)
    assert page.evaluate("window.stayed")


def test_a_job_page_looks_again_and_says_what_changed(visit: Any, built: bench.Bench) -> None:
    screen = visit(viewport={"width": 1440, "height": 900})
    screen.open("researcher", "/jobs/{train-unet-v4}", "en")
    page = screen.page
    assert page.locator(".state--lg").inner_text() == "waiting"
    job = built.jobs["train-unet-v4"]
    Job.objects.filter(pk=job.pk).update(
        state=State.CANCELLED, phase=Phase.ENDED, slurm_states=["CANCELLED"], ended_at=timezone.now()
    )
    expect(page.locator(".state--lg")).to_have_text("cancelled", timeout=20_000)
    expect(page.locator("live-region")).to_have_text("train-unet-v4: cancelled")
    assert page.locator("details.confirm").count() == 0
