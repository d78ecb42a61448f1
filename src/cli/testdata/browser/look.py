#!/usr/bin/env python3
"""Opens pages in Chromium and says what is wrong with how they look: look.py PAGE… [--screenshots FOLDER]

Overlapping or cut-off text at three widths, light and dark; contrast; what no key reaches. Exits with 1 if there are
findings, with 77 where there is no Chromium.
"""
import argparse
import pathlib
import sys

from devtools import Browser, find_chromium

VIEWS = [(390, 844), (1400, 900), (2200, 1300)]
SCHEMES = ["light", "dark"]
WALKS = [(390, "dark"), (1400, "light")]  # a walk by the keyboard takes longer than a look
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


def choose_a_box(browser):
    """Enter on a box opens the panel with its details."""
    browser.evaluate("document.querySelectorAll('.box')[1].focus()")
    browser.press("Enter")
    if browser.evaluate("document.getElementById('detail').hidden"):
        raise RuntimeError("Enter on a box opened nothing")


def look_at(browser, page, screenshots):
    findings = []

    def note(where, found):
        findings.extend(f"{page.name}, {where}: {one}" for one in found)

    for width, height in VIEWS:
        for scheme in SCHEMES:
            where = f"{width} {scheme}"
            browser.view(width, height, scheme)
            browser.open(page)
            browser.evaluate(LOOK)
            note(where, browser.evaluate("look()"))
            if screenshots:
                browser.screenshot(screenshots / f"{page.stem}-{width}-{scheme}.png")
            boxes = browser.evaluate("document.querySelectorAll('.box').length")
            if boxes <= MOST_STOPS and (width, scheme) in WALKS:
                note(f"{where}, by keyboard", walk(browser))
            if boxes:
                choose_a_box(browser)
                note(f"{where}, a box chosen", browser.evaluate("look()"))
                if screenshots:
                    browser.screenshot(screenshots / f"{page.stem}-{width}-{scheme}-chosen.png", whole=False)
                browser.open(page, "#fit")
                browser.evaluate(LOOK)
                note(f"{where}, fitted", browser.evaluate("look()"))
                if screenshots:
                    browser.screenshot(screenshots / f"{page.stem}-{width}-{scheme}-fit.png", whole=False)
    return findings


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path)
    arguments = parser.parse_args()
    program = find_chromium()
    if not program:
        print("there is no Chromium")
        sys.exit(77)
    if arguments.screenshots:
        arguments.screenshots.mkdir(parents=True, exist_ok=True)
    browser = Browser(program)
    try:
        findings = [one for page in arguments.pages for one in look_at(browser, page, arguments.screenshots)]
    finally:
        browser.close()
    print("\n".join(findings))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
