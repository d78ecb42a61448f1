#!/usr/bin/env python3
"""Opens pages in Chromium and says what is wrong with how they look: look.py PAGE… [--checks FILE.js] [--screenshots FOLDER]

Overlapping or cut-off text at three widths, contrast in light and dark, what no key reaches, errors of the console, and what
FILE.js finds: checks(NAME), a list of sentences. Exits with 1 if there are findings, with 77 where there is no Chromium.
"""
import argparse
import pathlib
import sys

from devtools import Browser, find_chromium

VIEWS = [(390, 844, "dark"), (1400, 900, "light"), (2200, 1300, "dark")]
SCHEMES = ["light", "dark"]
WALKS = [390, 1400]  # a walk by the keyboard takes longer than a look
LOOK = (pathlib.Path(__file__).parent / "look.js").read_text(encoding="utf-8")
MOST_STOPS = 400


def walk(browser):
    """Tab through the page; where boxes share a stop, the arrows walk through them."""
    browser.evaluate("startWalk()")
    for _ in range(MOST_STOPS):
        browser.press("Tab")
        stop = browser.evaluate("atStop()")
        if not stop:
            break
        while stop == "box":
            browser.press("ArrowRight")
            stop = browser.evaluate("atStop()")
    return browser.evaluate("endWalk()")


def look_at(browser, page, checks, screenshots):
    findings = []

    def note(where, found):
        findings.extend(f"{page.name}, {where}: {one}" for one in found)

    def picture(name, whole=True):
        if screenshots:
            browser.screenshot(screenshots / f"{page.stem}-{name}.png", whole=whole)

    for width, height, scheme in VIEWS:
        browser.view(width, height, scheme)
        browser.open(page)
        browser.evaluate(LOOK + ";document.querySelectorAll('details').forEach(one => { one.open = true; })")
        note(f"{width} {scheme}", browser.evaluate("look()"))
        picture(f"{width}-{scheme}")
        boxes = browser.evaluate("document.querySelectorAll('.box').length")
        if boxes <= MOST_STOPS and width in WALKS:
            note(f"{width}, by keyboard", walk(browser))
        # One load for both schemes: what moves is the same, colours are not.
        other = SCHEMES[scheme == "light"]
        browser.view(width, height, other)
        note(f"{width} {other}", browser.evaluate("lookAtContrast()"))
        picture(f"{width}-{other}")
        if boxes:
            browser.evaluate("document.querySelectorAll('.box')[1].focus()")
            browser.press("Enter")
            if browser.evaluate("document.getElementById('detail').hidden"):
                note(f"{width}", ["Enter on a box opened nothing"])
            note(f"{width}, a box chosen", browser.evaluate("look()"))
            picture(f"{width}-chosen", whole=False)
            browser.evaluate("[...document.querySelectorAll('.zoom button')].pop().click()")
            note(f"{width}, fitted", browser.evaluate("look()"))
            picture(f"{width}-fit", whole=False)
    if checks:
        note("checks", browser.evaluate(f"{checks};checks({page.stem!r})"))
    note("console", browser.errors())
    return findings


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    parser.add_argument("--checks", type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path)
    arguments = parser.parse_args()
    program = find_chromium()
    if not program:
        print("there is no Chromium")
        sys.exit(77)
    if arguments.screenshots:
        arguments.screenshots.mkdir(parents=True, exist_ok=True)
    checks = arguments.checks and arguments.checks.read_text(encoding="utf-8")
    browser = Browser(program)
    try:
        findings = [one for page in arguments.pages for one in look_at(browser, page, checks, arguments.screenshots)]
    finally:
        browser.close()
    print("\n".join(findings))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
