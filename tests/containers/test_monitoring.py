"""A real Prometheus with the shipped configuration and rules, only in a hurry (see monitoring)."""

from __future__ import annotations

import asyncio

from tests.services.waiting import eventually

from .stack import UP_S, Stack

SERVICES = ("gateway", "table", "auction", "trade", "clock", "presence", "bots")

ALERTS = {"OmnipolyServiceGone", "OmnipolyHelperGone", "OmnipolyNatsAway", "OmnipolyDatabaseAway"}


async def firing(stack: Stack) -> set[str]:
    """The alerts that fire now."""
    found = await stack.prometheus("alerts")
    return {alert["labels"]["alertname"] for alert in found["alerts"] if alert["state"] == "firing"}


async def test_every_container_is_found_and_scraped(stack: Stack) -> None:
    expected = sum(len(stack.of(service)) for service in SERVICES)

    async def all_up() -> bool:
        targets = (await stack.prometheus("targets"))["activeTargets"]
        return len(targets) == expected and all(target["health"] == "up" for target in targets)

    await eventually(all_up, UP_S)
    found = await stack.prometheus("query?query=omnipoly_build_info")
    assert {row["metric"]["service"] for row in found["result"]} == set(SERVICES)


async def test_every_rule_can_be_evaluated(stack: Stack) -> None:
    groups = (await stack.prometheus("rules"))["groups"]
    assert groups
    assert [rule["lastError"] for group in groups for rule in group["rules"] if rule.get("lastError")] == []


async def test_alerts_fire_for_what_they_are_about_and_no_longer(stack: Stack) -> None:
    async def fire() -> bool:
        return await firing(stack) >= ALERTS

    async def are_over() -> bool:
        return not await firing(stack) & ALERTS

    await eventually(are_over, UP_S)
    gone = [stack.boxes[name] for name in (*stack.of("clock"), *stack.of("trade"))]
    nodes = [stack.boxes[name] for name in ("nats-1", "nats-2", "nats-3")]
    await asyncio.gather(*(box.kill() for box in (*gone, *nodes)))
    await stack.boxes["postgres"].pause()
    try:
        await eventually(fire, UP_S)
    finally:
        await stack.boxes["postgres"].unpause()
        await asyncio.gather(*(node.again("Server is ready") for node in nodes), *(box.again() for box in gone))
    await eventually(are_over, UP_S)
