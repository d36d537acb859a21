"""Makes the pictures of README.md: the page in a browser, the table on a terminal; of games that bots play.

    python .ci/pictures.py          writes docs/pictures/*.png

Needs Chromium. The games differ each time, and so do the pictures: they are made anew when what they show has changed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Page

from omnipoly.cli.drawn.app import TableApp
from omnipoly.client import Client, Session

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs/pictures"
sys.path.insert(0, str(ROOT))

FONTS = re.compile(r"@font-face \{.*?\}", re.DOTALL)
MONOSPACE = re.compile(r"font-family: Fira Code[^;]*;")


@asynccontextmanager
async def platform() -> AsyncIterator[dict[str, Any]]:
    """A stack of its own, with the page; what it says of itself."""
    command = [str(Path(sys.executable).with_name("omnipolyd")), "up", "--ephemeral", "--json", "--stop-with-stdin"]
    process = await asyncio.create_subprocess_exec(
        *(*command, "--port", "0", "--page-port", "0"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "OMNIPOLY_BOTS_THINKING_S": "0.1"},
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        yield json.loads(await process.stdout.readline())
    finally:
        process.stdin.close()
        await process.wait()


async def of_the_page(page: Page, address: str) -> None:
    """A guest watches bots in the middle of a game, and looks at a field's card."""
    await page.goto(address)
    await page.fill("input[name=name]", "Ann")
    await page.click("[data-do=sign-in]")
    await page.select_option("select[name=edition]", "tubbypoly")
    await page.fill("input[name=bots]", "4")
    await page.uncheck("input[name=seated]")
    await page.click("[data-do=create]")
    await page.click("[data-do=start]")
    await page.wait_for_function("() => document.querySelectorAll('.record .turn_started').length > 45")
    await page.click("[data-field='24']")
    await page.wait_for_selector("[data-card='24']")
    await page.screenshot(path=PICTURES / "page.png")


async def of_the_terminal(page: Page, session: Session) -> None:
    """Another edition, played as `omnipoly play` draws it: a decision is open, a field is looked at."""
    table = await session.lobby.create("globopoly")
    for _ in range(3):
        await session.lobby.add_bot(table)
    async with session.play(tell=True) as play:
        feed = aiter(play)
        replica = await play.follow(table)
        app = TableApp(replica, feed, person=session.person, play=play)
        async with app.run_test(size=(104, 32)) as pilot:
            await session.lobby.start(table)
            state = replica.state
            while not (replica.prompt is not None and state.round >= 8 and state.turn == 0) and not state.places:
                if replica.prompt is not None:
                    await pilot.press("enter")
                await pilot.pause(0.3)
                state = replica.state
            await pilot.press(*"card", "space", *"24", "enter")
            await pilot.pause(0.5)
            drawn = app.export_screenshot(title="omnipoly play")
            app.exit("")
    # Fonts are the system's: nothing is fetched.
    drawn = MONOSPACE.sub("font-family: 'DejaVu Sans Mono', monospace;", FONTS.sub("", drawn))
    await page.set_content(f"<body style='margin:0'>{drawn}</body>")
    await page.locator("svg").screenshot(path=PICTURES / "terminal.png")


async def main() -> None:
    """Writes all pictures."""
    from tests.page.browsing import browser

    PICTURES.mkdir(parents=True, exist_ok=True)
    async with platform() as facts:
        async with browser(1440, 900) as page:
            page.set_default_timeout(300_000)
            await of_the_page(page, facts["page"])
        async with await Client.connect(facts["gateway"]) as client, browser(1400, 900) as page:
            await of_the_terminal(page, await client.sign_in_guest("Ann"))
    for picture in sorted(PICTURES.glob("*.png")):
        print(f"{picture.relative_to(ROOT)}: {picture.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    asyncio.run(main())
