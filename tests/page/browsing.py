"""A browser of the tests: the system's Chromium, without a window, with a new profile each time."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import ConsoleMessage, Page, async_playwright

ARGUMENTS = (
    "--no-sandbox",  # it refuses to run as root otherwise; it visits nobody but us
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str:
    """The system's Chromium."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert found, "The page's tests need Chromium (Debian: apt-get install chromium)."
    return found


@asynccontextmanager
async def browser(width: int = 1440, height: int = 900) -> AsyncIterator[Page]:
    """A page of a fresh browser. Exceptions in it, and errors on its console, are an error at the end."""
    wrong: list[str] = []

    def said(message: ConsoleMessage) -> None:
        if message.type == "error":
            wrong.append(message.text)

    async with async_playwright() as playwright:
        with tempfile.TemporaryDirectory(prefix="omnipoly-browser-") as profile:
            context = await playwright.chromium.launch_persistent_context(
                profile,
                executable_path=chromium(),
                headless=True,
                args=list(ARGUMENTS),
                viewport={"width": width, "height": height},
            )
            page = context.pages[0]
            page.on("console", said)
            page.on("pageerror", lambda error: wrong.append(str(error)))
            try:
                yield page
            finally:
                await context.close()
    assert not wrong, wrong
