"""The page in a browser: signing in, sitting down, playing a turn, watching bots to the end; any edition's board."""

from __future__ import annotations

import contextlib
import re

import pytest
from playwright.async_api import Page, expect
from playwright.async_api import TimeoutError as TooLate

from omnipoly.client import Client
from omnipoly.editions import loader
from omnipoly.rules import actions as act
from omnipoly.wire import views
from omnipoly.wire.gen.game.v1 import script_pb2
from omnipoly.wire.gen.gateway.v1 import watch_pb2, watch_pb2_grpc
from tests.page.browsing import browser
from tests.services.bots.stack import Stack
from tests.services.table.staging import state

pytestmark = pytest.mark.needs("chromium")

WITHIN_MS = 60_000
"""It only guards against hanging."""
KINDS = ("roll", "buy", "pay", "raise", "choose_steps", "teleport", "pass", "end_turn")
THEIRS = ", ".join(f"[data-do={kind}]" for kind in KINDS)
"""What the test's player does; the page lists first what is to be decided."""
PLAYED = """() => {
  const turns = [...document.querySelectorAll(".record .turn_started")].map((line) => line.textContent);
  const mine = turns.findIndex((line) => line.endsWith("the turn of Ann."));
  return mine >= 0 && mine < turns.length - 1;
}"""
CHANGED = "version => document.querySelector('main').dataset.version !== version"


async def signed_in(page: Page, site: str, name: str = "Ann") -> None:
    page.set_default_timeout(WITHIN_MS)
    await page.goto(site)
    await page.fill("input[name=name]", name)
    await page.click("[data-do=sign-in]")
    await page.wait_for_selector("[data-do=create]")


async def opened(page: Page, edition: str, *, bots: int, seated: bool = True, rounds: int = 0) -> str:
    """A table of one's own; its id."""
    await page.select_option("select[name=edition]", edition)
    await page.fill("input[name=bots]", str(bots))
    await page.set_checked("input[name=seated]", seated)
    if rounds:
        await page.fill("input[name=roundLimit]", str(rounds))
    await page.click("[data-do=create]")
    await page.wait_for_selector("[data-do=start]")
    return page.url.partition("#")[2]


def scripted(first: int, second: int) -> script_pb2.Script:
    """The next throw."""
    return script_pb2.Script(throws=[script_pb2.ScriptedThrow(dice=[first, second])])


async def test_a_guest_sits_down_and_plays_a_turn(platform: Stack, site: str) -> None:
    async with browser() as page:
        await signed_in(page, site)
        table = await opened(page, "tubbypoly", bots=2)
        await page.click("[data-do=start]")
        await expect(page.locator(".board")).to_have_attribute("data-fields", "40")
        mine = page.locator("[data-seat='0']")
        await expect(mine).to_contain_text("you")
        # Until a turn of one's own is over: "it is the turn of Ann" stands in the record, and another's after it.
        while not await page.evaluate(PLAYED):
            button = page.locator(".actions [data-do]").and_(page.locator(f":is({THEIRS})")).first
            version = await page.get_attribute("main", "data-version")
            if await button.is_visible():
                await button.click()
            with contextlib.suppress(TooLate):  # what was clicked may have been drawn anew under the click
                await page.wait_for_function(CHANGED, arg=version, timeout=2000)
        # The card of a field, with its rents.
        await page.click("[data-field='39']")
        card = page.locator("[data-card='39']")
        await expect(card.locator("tr")).not_to_have_count(0)
        await page.reload()
        await expect(mine).to_contain_text("you")  # the session outlives the reload, and so does the seat
    async with await Client.connect(platform.gateway.address) as client:
        session = await client.sign_in_guest("Looks")
        commits = [commit async for commit in session.games.history(table)]
    assert any(commit.actor.startswith("guest:") and commit.command_id for commit in commits)


async def test_bots_are_watched_to_the_end(platform: Stack, site: str) -> None:
    async with browser() as page, await Client.connect(platform.gateway.address) as client:
        await signed_in(page, site, "Watcher")
        table = await opened(page, "globopoly/quick", bots=3, seated=False, rounds=3)
        await page.click("[data-do=start]")
        await page.wait_for_selector("main[data-phase=over]")
        await expect(page.locator(".state.ended")).to_contain_text("wins")
        await expect(page.locator(".record .game_ended")).to_have_count(1)
        await expect(page.locator(".player .notes")).to_contain_text(["place", "place", "place"])
        await expect(page.locator(".actions")).to_contain_text("You watch.")
        # Read bit by bit while it grew, the record is the one that is read at once.
        session = await client.sign_in_guest("Looks")
        stub = watch_pb2_grpc.WatchServiceStub(session.calls.connection.channel)
        record = await session.calls.call(stub.Record, watch_pb2.RecordRequest(table=table, page_size=500))
        lines = page.locator(".record .lines li")
        await expect(lines).to_have_text([line.text for line in record.lines])


async def test_every_edition_shows_from_its_data_alone(platform: Stack, site: str) -> None:
    async with browser() as page:
        await signed_in(page, site)
        offered = await page.locator("select[name=edition] option").evaluate_all("all => all.map(one => one.value)")
        async with await Client.connect(platform.gateway.address) as client:
            assert set(offered) == {edition.id for edition in client.server.editions}
        for edition in offered:
            await page.select_option("select[name=edition]", edition)
            await page.click("[data-do=create]")
            board = loader.edition(edition).boards[0]
            fields = page.locator(".board .field .name")
            await expect(fields).to_have_text([field.name for field in board.field])
            at = await page.locator(".board .field").evaluate_all(
                "all => all.map(one => { const place = one.getBoundingClientRect(); return `${place.x} ${place.y}`; })"
            )
            assert len(set(at)) == len(board.field)  # none covers another
            await page.goto(site)
            await page.wait_for_selector("[data-do=create]")


async def test_trades_and_auctions_are_live(platform: Stack, site: str) -> None:
    """Ann is at the page, Bob at the library: she offers, he accepts; he declines a lot, both bid."""
    async with browser() as page, await Client.connect(platform.gateway.address) as client:
        await signed_in(page, site)
        token = await page.evaluate("() => JSON.parse(sessionStorage.getItem('omnipoly.session')).token")
        ann, bob = client.with_token(token), await client.sign_in_guest("Bob")
        table = await ann.lobby.create("tubbypoly", dev=True)
        await bob.lobby.join(table)
        view = await ann.lobby.view(table)
        s = state(("Ann", "Bob"), turn="Bob", owns={"Ann": (1, 5), "Bob": (6,)})
        s.holder = view.state.holder
        async with bob.play() as play:
            await ann.dev.set_up(table, views.to_view(s, 0, 0))
            await play.follow(table)
            await page.goto(f"{site}#{table}")
            await expect(page.locator("[data-seat='0'] .lots i")).to_have_count(2)

            await page.click(".actions [data-do=offer]")
            give, take = page.locator("dialog fieldset").nth(0), page.locator("dialog fieldset").nth(1)
            await give.get_by_label("Soap Row").check()
            await take.get_by_label("Rubber Duck Lane").check()
            await take.locator("input[type=number]").fill("20")
            await page.click("[data-do=send-offer]")
            offer = page.locator(".offer")
            await expect(offer).to_contain_text("gives Soap Row to Bob for 20 pupas, Rubber Duck Lane")
            await expect(offer.locator("[data-do=withdraw]")).to_be_visible()
            await play.act(table, act.Accept(1))
            await expect(page.locator(".trades")).to_contain_text("No offer is open.")
            await expect(page.locator("[data-seat='0'] .cash")).to_have_text(re.compile(r"1.520 pupas"))

            await play.act(table, act.Roll(), script=scripted(1, 2))
            await play.act(table, act.Decline())
            auction = page.locator(".auction")
            await expect(auction).to_contain_text("no bid yet")
            await page.locator(".actions [data-do=bid]").first.click()
            await expect(auction).to_contain_text("Ann bids")
            await play.act(table, act.Bid(1, 50))
            await expect(auction).to_contain_text("bids 50 pupas")
            await expect(auction.locator(".clock")).to_have_text(re.compile(r"\d s"))
            await page.locator(".actions [data-do=pass]").click()
            await expect(auction).to_have_count(0)
