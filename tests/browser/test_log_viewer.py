"""The log viewer in a real browser: following, links, find, colours, and every way in which a stream goes wrong."""

from __future__ import annotations

import itertools
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.fake_log import Serving
from tests.clock import within

pytestmark = [pytest.mark.browser, pytest.mark.timeout(90)]
ESC = "\x1b"
SHOWN = """() => {
  const box = document.querySelector(".log__text").getBoundingClientRect();
  return [...document.querySelectorAll(".log__row")]
    .filter((row) => { const at = row.getBoundingClientRect(); return at.bottom > box.top + 1 && at.top < box.bottom - 1; })
    .map((row) => [row.querySelector(".log__n").textContent, row.querySelector(".t").textContent]);
}"""


def numbered(first: int, last: int) -> str:
    """Lines that say their own number."""
    return "".join(f"line {n} of the output\n" for n in range(first, last + 1))


def shown(page: Page) -> list[list[str]]:
    """[number, text] of the rows in sight."""
    return page.evaluate(SHOWN)


def settle(page: Page, text: str, seconds: int = 30) -> None:
    """Wait until a row with this text is drawn."""
    expect(page.locator(".log__row", has_text=text).first).to_be_attached(timeout=seconds * 1000)


def go(page: Page, serving: Serving, where: str = "/log-page", until: str = "") -> None:
    """Open the viewer, and wait for a text."""
    page.goto(serving.address + where)
    if until:
        settle(page, until)


def whole(page: Page) -> str:
    """All that the viewer's model holds, as one text."""
    return page.evaluate("""() => {
      const { lines } = document.querySelector("log-viewer");
      const parts = [];
      for (let row = 0; row < lines.rows; row += 1) {
        const { gap, text, goesOn } = lines.row(row);
        parts.push(gap ? "<gap>" : (goesOn ? "" : "\\n") + text);
      }
      return parts.join("").slice(1);
    }""")


def test_follows_the_end_and_keeps_few_nodes_with_200_000_lines(page: Page, serving: Serving) -> None:
    serving.log.write(numbered(1, 100))
    go(page, serving, until="line 100 of")
    serving.log.write(numbered(101, 200_000))
    settle(page, "line 200000 of", seconds=60)
    expect(page.locator("[data-part=size]")).to_contain_text("200,000 lines")
    assert shown(page)[-1] == ["200000", "line 200000 of the output"]
    assert page.evaluate("document.querySelectorAll('*').length") <= 1500
    for share in (0.0, 0.25, 0.5, 0.9):
        page.evaluate("(p) => { const box = document.querySelector('.log__text');"
                      " box.scrollTop = p * (box.scrollHeight - box.clientHeight); }", share)  # fmt: skip
        page.wait_for_timeout(150)
        rows = shown(page)
        numbers = [int(number) for number, _ in rows]
        assert numbers == list(range(numbers[0], numbers[0] + len(rows)))
        assert all(text == f"line {number} of the output" for number, text in rows)
        assert abs(numbers[0] - share * 200_000) < 200


def test_a_line_is_on_the_screen_soon_after_it_was_written(page: Page, serving: Serving) -> None:
    serving.log.write("ready\n")
    go(page, serving, until="ready")
    numbers = itertools.count()

    def show() -> None:
        text = f"now {next(numbers)}."
        serving.log.write(text + "\n")
        settle(page, text)

    for _ in range(5):
        within(1, show)


def test_scrolling_up_pauses_and_the_button_leads_back(page: Page, serving: Serving) -> None:
    serving.log.write(numbered(1, 300))
    go(page, serving, until="line 300 of")
    page.locator(".log__text").hover()
    page.mouse.wheel(0, -900)
    expect(page.locator("[data-act=follow]")).to_have_attribute("aria-pressed", "false")
    page.wait_for_timeout(200)
    before = shown(page)
    serving.log.write(numbered(301, 428))
    button = page.locator("[data-part=new]")
    expect(button).to_contain_text("128 new lines")
    assert shown(page) == before
    button.click()
    settle(page, "line 428 of")
    expect(page.locator("[data-act=follow]")).to_have_attribute("aria-pressed", "true")
    expect(button).to_be_hidden()


def test_wrapped_rows_stay_where_they_are_while_lines_come(page: Page, serving: Serving) -> None:
    serving.log.write("".join(f"row {n} " + "word " * (n * 37 % 120) + "\n" for n in range(1, 301)))
    go(page, serving, until="row 300 ")
    page.keyboard.press("w")
    page.locator(".log__text").hover()
    page.mouse.wheel(0, -2500)
    place = "document.querySelector('.log__row:nth-child(12)').getBoundingClientRect().top"
    text = "document.querySelector('.log__row:nth-child(12) .t').textContent.slice(0, 8)"
    before, last = ["", 0.0], page.evaluate(f"[{text}, {place}]")
    while before != last:  # the wheel's turning comes to its end in its own time
        page.wait_for_timeout(300)
        before, last = last, page.evaluate(f"[{text}, {place}]")
    for n in range(20):
        serving.log.write(f"later {n} " + "word " * 90 + "\n")
        page.wait_for_timeout(30)
    expect(page.locator("[data-part=new]")).to_contain_text("20 new lines")
    after = page.evaluate(f"[{text}, {place}]")
    assert after[0] == before[0]
    assert abs(after[1] - before[1]) < 3


def test_nothing_in_the_output_becomes_markup_or_reaches_the_terminal(page: Page, serving: Serving) -> None:
    evil = [
        "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>",
        f"{ESC}]52;c;aGFja2Vk\x07after the clipboard",
        f"{ESC}]8;;javascript:window.hacked=1\x07a link{ESC}]8;;\x07 and more",
        f"{ESC}[2J{ESC}[H{ESC}[10A{ESC}[?25lno moves",
        f"{ESC}Pq#0;2;0;0;0{ESC}\\no pictures{ESC}_app{ESC}\\{ESC}^pm{ESC}\\!",
        f"{ESC}]0;a title without its end",
        "\x00\x07\x7fcontrols",
        "left \u202ertl\u202c right",
        "&lt;b&gt; stays as it is",
    ]
    serving.log.write("\n".join(evil) + "\n")
    go(page, serving, until="stays as it is")
    texts = [text for _, text in shown(page)]
    assert texts[0] == evil[0]
    assert texts[1:4] == ["after the clipboard", "a link and more", "no moves"]
    assert texts[4] == "no pictures!"
    assert texts[5] == "0;a title without its end"
    assert texts[6:] == ["␀␇␡controls", "left ⟨U+202E⟩rtl⟨U+202C⟩ right", evil[8]]
    assert page.evaluate("window.hacked") is None
    assert page.locator(".log__text img, .log__text script, .log__row .t a").count() == 0
    assert page.title() == "log"


def test_colours_of_all_three_kinds_and_their_contrast_in_both_themes(page: Page, serving: Serving) -> None:
    serving.log.write(
        f"{ESC}[31;1mred{ESC}[0m {ESC}[38;5;220mindexed{ESC}[0m {ESC}[38;2;255;255;0mtrue{ESC}[0m "
        f"{ESC}[38:2::0:40:255mcolons{ESC}[0m {ESC}[48;5;18mground{ESC}[0m {ESC}[7minverse{ESC}[27m plain\n"
        f"{ESC}[32mgreen goes\non in the next line{ESC}[0m\n"
    )
    go(page, serving, until="on in the next")
    assert page.locator("span.a-red.a-b").inner_text() == "red"
    assert page.locator("span.a-green").all_inner_texts() == ["green goes", "on in the next line"]
    for theme in ("light", "dark"):
        page.evaluate("(theme) => { document.documentElement.dataset.bsTheme = theme; }", theme)
        for text in ("indexed", "true", "colons", "ground", "inverse"):
            assert contrast(page, text) >= 4.5, (theme, text)


def contrast(page: Page, text: str) -> float:
    """WCAG contrast of a styled part against what lies behind it, as the browser computes both."""
    return page.evaluate("""(text) => {
      const span = [...document.querySelectorAll(".t span")].find((one) => one.textContent === text);
      const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      const luminance = (colour) => {
        canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
        const linear = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3)
          .map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
      };
      const ground = [span, document.querySelector(".log__view")].map((one) => getComputedStyle(one).backgroundColor)
        .find((colour) => colour !== "rgba(0, 0, 0, 0)");
      const [a, b] = [luminance(getComputedStyle(span).color), luminance(ground)].sort((x, y) => y - x);
      return (a + 0.05) / (b + 0.05);
    }""", text)  # fmt: skip


def test_progress_bars_are_folded_to_their_last_state(page: Page, serving: Serving) -> None:
    go(page, serving)
    for step in range(0, 101, 4):
        serving.log.write(f"\repoch 3: {step:3d}%|{'#' * (step // 10):<10}| {step}/100 [00:0{step % 10}]")
        page.wait_for_timeout(5)
    settle(page, "100/100")
    row = page.locator(".log__row")
    assert row.count() == 1
    assert row.locator(".fold").inner_text() == "25 folded"
    assert row.locator("svg.tq rect").last.get_attribute("width") == "100%"
    serving.log.write("\nKeras 1/3\b\b\b2/3\b\b\b3/3\r\ndone\n")
    settle(page, "Keras 3/3")
    assert [number for number, _ in shown(page)] == ["1", "2", "3"]


def test_a_lost_socket_loses_and_doubles_nothing(page: Page, serving: Serving) -> None:
    serving.log.write(numbered(1, 50))
    go(page, serving, until="line 50 of")
    written = 50
    for _ in range(3):
        serving.log.drop()
        serving.log.write(numbered(written + 1, written + 1000))
        written += 1000
        settle(page, f"line {written} of")
    assert whole(page) == numbered(1, written).rstrip("\n")
    assert serving.log.watches[0]["offset"] == -65536
    assert serving.log.watches[1]["offset"] == len(numbered(1, 50))


@pytest.mark.parametrize("path", ["/nosocket", "/log-page"])
def test_without_a_socket_it_asks_by_offset(page: Page, serving: Serving, path: str) -> None:
    serving.log.sockets = False
    serving.log.write(numbered(1, 20))
    go(page, serving, path, until="line 20 of")
    expect(page.locator("[data-part=link]")).to_have_text("asking every 2 s")
    serving.log.write(numbered(21, 40))
    settle(page, "line 40 of")
    assert whole(page) == numbered(1, 40).rstrip("\n")


def test_the_socket_takes_over_again(page: Page, serving: Serving) -> None:
    serving.log.sockets = False
    serving.log.write("one\n")
    go(page, serving, until="one")
    expect(page.locator("[data-part=link]")).to_have_text("asking every 2 s")
    serving.log.sockets = True
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("[data-part=link]")).to_have_text("live", timeout=15_000)
    serving.log.write("two\n")
    settle(page, "two")
    assert whole(page) == "one\ntwo"


def test_another_writing_of_the_file_starts_over(page: Page, serving: Serving) -> None:
    serving.log.write(numbered(1, 500))
    go(page, serving, until="line 500 of")
    serving.log.rewrite("fresh from the start\n")
    settle(page, "fresh from the start")
    assert whole(page) == "fresh from the start"
    expect(page.locator("[data-part=note]")).to_contain_text("written anew")
    expect(page.locator("[data-part=size]")).to_contain_text("1 line,")


def test_skipped_bytes_leave_a_notice_that_can_be_loaded(page: Page, serving: Serving) -> None:
    text = numbered(1, 5000)
    cut = text.index("line 101 of") + 4
    resume = text.index("line 4001 of") + 6
    serving.log.write(text[:cut])
    go(page, serving, until="line 100 of")
    serving.log.skip_over = (cut, resume)
    serving.log.write(text[cut:])
    settle(page, "line 5000 of")
    expect(page.locator("[data-part=note]")).to_contain_text("passed over")
    page.evaluate("document.querySelector('log-viewer').showByte(2000)")
    gap = page.locator(".log__gap")
    expect(gap).to_contain_text("not loaded here")
    gap.get_by_role("button", name="Load").click()
    expect(gap).to_have_count(0)
    assert whole(page) == text.rstrip("\n")
    expect(page.locator("[data-part=size]")).to_contain_text("5,000 lines")


def test_earlier_output_is_loaded_on_the_way_up_with_true_numbers(page: Page, serving: Serving) -> None:
    serving.log.write(numbered(1, 60_000))
    go(page, serving, until="line 60000 of")
    expect(page.locator("[data-part=size]")).to_contain_text("60,000 lines")
    assert shown(page)[-1][0] == "60000"
    page.locator(".log__text").focus()
    page.keyboard.press("Home")
    settle(page, "line 1 of the")
    assert shown(page)[0] == ["1", "line 1 of the output"]
    page.keyboard.press("End")
    settle(page, "line 60000 of")
    page.evaluate("document.querySelector('log-viewer').showByte(900000)")
    page.wait_for_timeout(400)
    assert all(text == f"line {number} of the output" for number, text in shown(page) if text.endswith("output"))


def test_scrolling_to_the_upper_edge_brings_what_is_above(page: Page, serving: Serving) -> None:
    serving.log.write(numbered(1, 20_000))
    go(page, serving, until="line 20000 of")
    box = page.locator(".log__text")
    box.hover()
    for _ in range(40):
        box.evaluate("(box) => { box.scrollTop = 0; }")
        page.wait_for_timeout(120)
        if page.locator(".log__gap").count() == 0 and shown(page)[0][0] == "1":
            break
    assert whole(page) == numbered(1, 20_000).rstrip("\n")


def test_links_to_lines_work_for_whoever_opens_them(page: Page, serving: Serving) -> None:
    serving.log.write(numbered(1, 30_000))
    go(page, serving, "/log-page#L120-L140", until="line 130 of")
    assert page.locator(".log__row.is-linked").count() == 21
    expect(page.locator("[data-act=follow]")).to_have_attribute("aria-pressed", "false")
    page.get_by_role("link", name="125", exact=True).click(force=True)
    assert page.evaluate("location.hash") == "#L125"
    page.get_by_role("link", name="128", exact=True).click(force=True, modifiers=["Shift"])
    assert page.evaluate("location.hash") == "#L125-L128"
    page.locator("[data-act=link]").click()
    assert page.evaluate("navigator.clipboard.readText()").endswith("/log-page#L125-L128")
    page.keyboard.press("End")
    page.locator("[data-act=follow]").click()
    settle(page, "line 30000 of")
    page.get_by_role("link", name="29990", exact=True).click(force=True)
    assert re.fullmatch(r"#L29990@\d+", page.evaluate("location.hash"))
    go(page, serving, "/other" + page.evaluate("location.hash"), until="line 29990 of")
    assert page.locator(".log__row.is-linked .t").inner_text() == "line 29990 of the output"


def test_a_link_to_a_line_that_is_not_there_says_so(page: Page, serving: Serving) -> None:
    serving.log.write(numbered(1, 10))
    go(page, serving, "/log-page#L999", until="line 10 of")
    expect(page.locator("[data-part=note]")).to_contain_text("Line 999 is not in the output")


def test_find_counts_steps_marks_and_reaches_the_whole_file(page: Page, serving: Serving) -> None:
    serving.log.write(numbered(1, 3000).replace("line 17 ", "needle A ").replace("line 2900 ", "needle B "))
    go(page, serving, until="line 3000 of")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.dataset.part") == "find"
    page.keyboard.type("NEEDLE")
    expect(page.locator("[data-part=count]")).to_have_text(re.compile(r"\d of \d"))
    page.locator("[data-act=server]").click() if page.locator("[data-part=server]").is_visible() else None
    expect(page.locator("[data-part=count]")).to_have_text(re.compile(r"\d of 2"))
    expect(page.locator("mark.now")).to_have_text("needle")
    seen = {page.locator("mark.now").evaluate("(mark) => mark.parentElement.textContent")}
    page.keyboard.press("Enter") if page.evaluate("document.activeElement.dataset.part") == "find" else page.locator(
        "[data-act=next]").click()  # fmt: skip
    page.wait_for_timeout(500)
    seen.add(page.locator("mark.now").evaluate("(mark) => mark.parentElement.textContent"))
    assert seen == {"needle A of the output", "needle B of the output"}
    page.locator("[data-part=find]").fill("not there at all")
    expect(page.locator("[data-part=count]")).to_have_text("not found")


def test_first_error_is_found_even_far_above(page: Page, serving: Serving) -> None:
    trouble = 'Traceback (most recent call last):\n  File "train.py", line 3, in step\nValueError: no loss\n'
    serving.log.write(numbered(1, 9000) + trouble + numbered(9004, 12_000))
    go(page, serving, until="line 12000 of")
    page.keyboard.press("e")
    settle(page, "Traceback")
    assert page.locator(".log__row.is-bad .t").all_inner_texts() == trouble.splitlines()


def test_an_endless_line_and_bytes_that_are_no_text(page: Page, serving: Serving) -> None:
    serving.log.write("start\n" + "x" * 300_000)
    serving.log.files["stdout"] += b"\n\xff\xfe caf\xc3\xa9 \xe2\x82\nlast\n"
    go(page, serving, until="last")
    texts = [text for _, text in shown(page)]
    assert "�� café �" in texts
    assert max(len(text) for text in texts) < 2200
    page.locator("[data-act=whole]").last.click()
    page.wait_for_timeout(200)
    assert max(len(text) for _, text in shown(page)) > 10_000


def test_memory_is_bounded_and_what_was_dropped_comes_back(page: Page, serving: Serving) -> None:
    go(page, serving)
    page.evaluate("document.querySelector('log-viewer').dataset.cap = 1000000")
    serving.log.write(numbered(1, 150_000))
    settle(page, "line 150000 of")
    assert page.evaluate("document.querySelector('log-viewer').lines.held") <= 1_100_000
    page.evaluate("document.querySelector('log-viewer').showByte(500000)")
    page.wait_for_timeout(1500)
    rows = shown(page)
    assert len(rows) > 10
    assert all(text == f"line {number} of the output" for number, text in rows)


def test_the_other_stream(page: Page, serving: Serving) -> None:
    serving.log.write("this is the output\n")
    serving.log.write("this is an error\n", "stderr")
    go(page, serving, "/two", until="this is the output")
    page.get_by_role("button", name="Errors").click()
    settle(page, "this is an error")
    assert whole(page) == "this is an error"
    assert page.locator("[data-part=download]").get_attribute("href").endswith("stream=stderr")


def test_the_end_of_access_is_said(page: Page, serving: Serving) -> None:
    serving.log.write("secret\n")
    go(page, serving, "/nosocket", until="secret")
    serving.log.refuse = True
    expect(page.locator("[data-part=note]")).to_contain_text("may no longer read", timeout=10_000)
    asked = len(serving.log.asked)
    page.wait_for_timeout(2500)
    assert len(serving.log.asked) == asked


def test_nothing_yet_and_a_job_that_is_over(page: Page, serving: Serving) -> None:
    serving.log.state = "missing"
    go(page, serving, "/over")
    expect(page.locator("[data-part=empty]")).to_contain_text("No output yet")
    serving.log.state = "open"
    serving.log.write("the end\n")
    settle(page, "the end")
    expect(page.locator("[data-part=link]")).to_have_text("complete")


def test_single_keys_can_be_turned_off(page: Page, serving: Serving) -> None:
    serving.log.write(numbered(1, 100))
    go(page, serving, until="line 100 of")
    page.keyboard.press("f")
    expect(page.locator("[data-act=follow]")).to_have_attribute("aria-pressed", "false")
    page.evaluate("document.body.dataset.singleKeys = 'off'")
    page.keyboard.press("f")
    expect(page.locator("[data-act=follow]")).to_have_attribute("aria-pressed", "false")


def test_the_lines_are_those_of_the_file_however_the_bytes_come(page: Page, serving: Serving) -> None:
    """Random pieces, gaps and fillings; the model is asked for all rows at the end."""
    go(page, serving)
    wrong = page.evaluate("""async () => {
      const { LogLines } = await import("/static/js/log-lines.js");
      let seed = 7;
      const random = (n) => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed % n; };
      const bad = [];
      for (let round = 0; round < 60; round += 1) {
        let text = "";
        for (let n = 0; n < 400 + random(3000); n += 1) text += "é".repeat(random(40)) + "y".repeat(random(200)) + "\\n";
        if (random(2)) text = text.slice(0, -1);
        const file = new TextEncoder().encode(text);
        const lines = new LogLines();
        let at = random(3) ? 0 : random(file.length);
        lines.append(at, file.subarray(at, at + 1 + random(90000)), null);
        while (lines.end < file.length) {
          if (!random(5)) { at = Math.min(file.length - 1, lines.end + random(30000)); } else at = Math.max(0, lines.end - random(50));
          lines.append(at, file.subarray(at, at + 1 + random(80000)));
        }
        for (let gap; (gap = lines.pieces.find((piece) => !piece.starts)); ) {
          const from = gap.from + random(gap.to - gap.from);
          lines.insert(from, file.slice(from, Math.min(gap.to, from + 1 + random(70000))));
        }
        let got = "";
        const numbers = [];
        for (let row = 0; row < lines.rows; row += 1) {
          const { text: part, goesOn, number } = lines.row(row);
          got += (goesOn || row === 0 ? "" : "\\n") + part;
          if (!goesOn) numbers.push(number);
        }
        const want = text.endsWith("\\n") ? text.slice(0, -1) : text;
        if (got !== want) bad.push(`round ${round}: ${got.length} of ${want.length}`);
        if (numbers.some((number, i) => number !== i + 1)) bad.push(`round ${round}: numbers`);
      }
      return bad;
    }""")
    assert wrong == []
