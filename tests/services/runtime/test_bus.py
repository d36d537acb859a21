from __future__ import annotations

import asyncio
import shutil

import pytest
from nats.aio.client import Client
from nats.js import errors as js_errors
from prometheus_client import REGISTRY

from omnipoly.runtime import bus as bus_module
from omnipoly.runtime import bus_watch
from omnipoly.runtime.bus import BucketSpec, Bus, Change, Message, StreamSpec, WatchEvent
from omnipoly.runtime.embedded import EmbeddedNats, _free_port
from omnipoly.runtime.failures import Failure
from tests.services.waiting import eventually


async def _started(url: str) -> Bus:
    bus = Bus(url, name="test")
    await bus.start()
    return bus


@pytest.fixture
async def bus(nats_url: str):
    bus = await _started(nats_url)
    await bus.wait_connected(20)
    yield bus
    await bus.close()


class Collector:
    """A handler that keeps what it got."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    async def __call__(self, message: Message) -> None:
        self.messages.append(message)

    @property
    def data(self) -> list[bytes]:
        return [message.data for message in self.messages]


def _counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


# --- Messages


async def test_publish_and_subscribe(bus: Bus, unique: str) -> None:
    got = Collector()
    subscription = await bus.subscribe(f"{unique}.*", got)
    await bus.flush()
    bus.publish(f"{unique}.a", b"1", {"traceparent": "00-x"})
    bus.publish(f"{unique}.b", b"2")
    await eventually(lambda: len(got.messages) == 2)
    assert got.messages == [
        Message(f"{unique}.a", b"1", {"traceparent": "00-x"}),
        Message(f"{unique}.b", b"2", {}),
    ]
    await subscription.close()
    bus.publish(f"{unique}.a", b"3")
    await bus.flush()
    await bus.flush()
    assert got.data == [b"1", b"2"]


async def test_a_queue_group_shares(bus: Bus, unique: str) -> None:
    one, other = Collector(), Collector()
    await bus.subscribe(unique, one, queue="q")
    await bus.subscribe(unique, other, queue="q")
    await bus.flush()
    for n in range(50):
        bus.publish(unique, b"%d" % n)
    await eventually(lambda: len(one.messages) + len(other.messages) == 50)
    assert sorted(one.data + other.data) == sorted(b"%d" % n for n in range(50))


async def test_a_handler_that_raises_is_counted_and_goes_on(bus: Bus, unique: str) -> None:
    got: list[bytes] = []

    async def handler(message: Message) -> None:
        if message.data == b"1":
            raise RuntimeError("no")
        got.append(message.data)

    before = _counted("omnipoly_bus_handler_errors_total")
    await bus.subscribe(unique, handler)
    await bus.flush()
    bus.publish(unique, b"1")
    bus.publish(unique, b"2")
    await eventually(lambda: got == [b"2"])
    assert _counted("omnipoly_bus_handler_errors_total") == before + 1


async def test_a_slow_handler_loses_the_rest_and_that_is_counted(bus: Bus, unique: str) -> None:
    release = asyncio.Event()
    got: list[bytes] = []

    async def handler(message: Message) -> None:
        await release.wait()
        got.append(message.data)

    def lost() -> float:
        return _counted("omnipoly_bus_errors_total", kind="SlowConsumerError")

    before = lost()
    await bus.subscribe(unique, handler, pending_messages=4)
    await bus.flush()
    for n in range(20):
        bus.publish(unique, b"%d" % n)
    await eventually(lambda: lost() >= before + 15)
    release.set()
    await eventually(lambda: len(got) == 20 - (lost() - before))


async def test_what_cannot_be_published_is_counted(bus: Bus, unique: str) -> None:
    before = _counted("omnipoly_bus_dropped_total", reason="too_large")
    bus.publish(unique, bytes(9 * 1024 * 1024))
    bus.publish("not a subject", b"")
    await bus.flush()
    assert _counted("omnipoly_bus_dropped_total", reason="too_large") == before + 1


async def test_nats_that_comes_later(tmp_path, unique: str) -> None:
    # The folder remembers its port, so the URL is known before the server is there.
    first = EmbeddedNats(tmp_path / "nats")
    url = first.start()
    first.stop()
    bus = await _started(url)
    got = Collector()
    reconnects: list[int] = []

    async def note() -> None:
        reconnects.append(bus.connects)

    bus.on_reconnect(note)
    bus.declare(StreamSpec(unique, [f"{unique}.>"]))
    await bus.subscribe(f"{unique}.>", got)
    bus.publish(f"{unique}.a", b"waits")
    assert not bus.connected
    with pytest.raises(Failure, match="NATS is away"):
        await bus.put(unique, "key", b"")
    with pytest.raises(TimeoutError):
        await bus.wait_connected(0.01)
    with EmbeddedNats(tmp_path / "nats") as server:
        assert server.url == url
        await eventually(lambda: got.data == [b"waits"])
        await eventually(lambda: reconnects == [1])
        assert bus.jetstream is not None
        assert (await bus.jetstream.stream_info(unique)).config.subjects == [f"{unique}.>"]
        await bus.close()


async def test_while_nats_is_away_the_oldest_are_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bus_module, "PENDING_MESSAGES", 3)
    monkeypatch.setattr(bus_module, "PENDING_BYTES", 1000)
    bus = await _started(f"nats://127.0.0.1:{_free_port()}")
    before = _counted("omnipoly_bus_dropped_total", reason="full")
    for n in range(5):
        bus.publish("a", b"%d" % n)
    assert [data for _, data, _ in bus._pending] == [b"2", b"3", b"4"]
    bus.publish("a", bytes(999))
    assert [len(data) for _, data, _ in bus._pending] == [1, 999]
    bus.publish("a", bytes(1001))
    assert not bus._pending
    assert _counted("omnipoly_bus_dropped_total", reason="full") == before + 7
    await bus.close()


# --- Lost servers and stores


@pytest.mark.parametrize("store", ["kept", "lost"])
async def test_subscribers_streams_and_watches_outlive_a_killed_nats(own_nats: EmbeddedNats, store: str) -> None:
    bus = await _started(own_nats.url)
    got = Collector()
    changes: list[WatchEvent] = []
    reconnects: list[int] = []

    async def watched(event: WatchEvent) -> None:
        changes.append(event)

    async def note() -> None:
        # Everything stands when this is called.
        assert bus.jetstream is not None
        for name in ("TABLES", "KV_leases"):
            await bus.jetstream.stream_info(name)
        reconnects.append(bus.connects)

    bus.on_reconnect(note)
    bus.declare(StreamSpec("TABLES", ["table.>"], max_age_s=600))
    bus.declare(BucketSpec("leases", ttl_s=30, limit_marker_ttl_s=60))
    await bus.subscribe("table.>", got)
    bus.watch("leases", watched)
    await eventually(lambda: reconnects == [1])
    await bus.put("leases", "gateway-1", b"one")
    bus.publish("table.a", b"1")
    await eventually(lambda: got.data == [b"1"])
    await eventually(lambda: WatchEvent(Change.PUT, "gateway-1", b"one", 1) in changes)

    await asyncio.to_thread(own_nats.kill)
    await eventually(lambda: not bus.connected)
    bus.publish("table.a", b"2")  # waits
    if store == "lost":
        shutil.rmtree(own_nats.store)
    changes.clear()
    await asyncio.to_thread(own_nats.start)
    await eventually(lambda: reconnects == [1, 2])
    await eventually(lambda: got.data == [b"1", b"2"])
    await eventually(lambda: Change.CURRENT in [event.change for event in changes])
    kept = [WatchEvent(Change.PUT, "gateway-1", b"one", 1)] if store == "kept" else []
    assert changes == [WatchEvent(Change.LOST), WatchEvent(Change.RESET), *kept, WatchEvent(Change.CURRENT)]

    await bus.put("leases", "gateway-2", b"two")
    await eventually(lambda: [event.key for event in changes if event.value == b"two"] == ["gateway-2"])
    bus.publish("table.a", b"3")
    await eventually(lambda: got.data == [b"1", b"2", b"3"])
    await bus.close()


async def test_what_is_subscribed_while_nats_is_away_is_heard_once_it_is_back(own_nats: EmbeddedNats) -> None:
    """The client that reconnects is the same one, and takes along what it knows of; what has ended, it does not."""
    bus = await _started(own_nats.url)
    before, during, ended = Collector(), Collector(), Collector()
    await bus.wait_connected(20)
    await bus.subscribe("table.>", before)
    await asyncio.to_thread(own_nats.kill)
    await eventually(lambda: not bus.connected)
    await bus.subscribe("table.>", during)
    await (await bus.subscribe("table.>", ended)).close()
    await asyncio.to_thread(own_nats.start)
    await eventually(lambda: bus.connected)
    bus.publish("table.a", b"1")
    await eventually(lambda: (before.data, during.data) == ([b"1"], [b"1"]))
    assert ended.data == []
    await bus.close()


async def test_a_client_given_up_hands_its_subscriptions_on(
    bus: Bus, unique: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Also when some come and go while the next client begins with them."""
    got = [Collector() for _ in range(8)]
    late = Collector()
    subscriptions = [await bus.subscribe(f"{unique}.{n}", one) for n, one in enumerate(got)]
    begin = bus_module.Subscription._begin

    async def begin_meanwhile(one: bus_module.Subscription, client: Client) -> None:
        if one is subscriptions[0]:
            await asyncio.gather(*(other.close() for other in subscriptions[::2]))
            await bus.subscribe(f"{unique}.late", late)
        await begin(one, client)

    monkeypatch.setattr(bus_module.Subscription, "_begin", begin_meanwhile)
    assert bus._client is not None
    await bus._client.close()
    await bus.subscribe(f"{unique}.soon", late)
    await eventually(lambda: bus.connects == 2)
    for name in (*range(8), "soon", "late"):
        bus.publish(f"{unique}.{name}", b"1")
    await eventually(lambda: len(late.data) == 2)
    assert [len(one.data) for one in got] == [0, 1] * 4
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_a_bucket_deleted_under_a_watch_is_made_again(bus: Bus, unique: str) -> None:
    changes: list[WatchEvent] = []

    async def watched(event: WatchEvent) -> None:
        changes.append(event)

    bus.declare(BucketSpec(unique))
    await bus.put(unique, "old", b"value")
    bus.watch(unique, watched)
    await eventually(lambda: changes[-1:] == [WatchEvent(Change.CURRENT)])
    assert bus.jetstream is not None
    await bus.jetstream.delete_stream(f"KV_{unique}")
    # Whoever writes next finds it missing, has it made and tries again.
    await bus.put(unique, "key", b"value")
    assert await bus.get(unique, "key") == b"value"
    await eventually(lambda: WatchEvent(Change.PUT, "key", b"value", 1) in changes)
    assert [event.change for event in changes].count(Change.RESET) >= 2


async def test_a_watch_whose_consumer_is_lost_begins_anew(
    bus: Bus, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bus_watch, "HEARTBEAT_S", 0.1)
    monkeypatch.setattr(bus_watch, "SILENCE_S", 0.5)
    changes: list[Change] = []

    async def watched(event: WatchEvent) -> None:
        changes.append(event.change)

    bus.declare(BucketSpec(unique))
    await bus.put(unique, "key", b"value")
    bus.watch(unique, watched)
    await eventually(lambda: changes == [Change.RESET, Change.PUT, Change.CURRENT])
    assert bus.jetstream is not None
    (consumer,) = await bus.jetstream.consumers_info(f"KV_{unique}")
    await bus.jetstream.delete_consumer(f"KV_{unique}", consumer.name)
    again = [Change.RESET, Change.PUT, Change.CURRENT]
    await eventually(lambda: changes == [*again, Change.LOST, *again])


async def test_a_stream_deleted_under_everybody_is_made_again_within_the_round(
    bus: Bus, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = StreamSpec(unique, [f"{unique}.>"])
    bus.declare(spec)
    assert bus.jetstream is not None
    jetstream = bus.jetstream

    async def exists() -> bool:
        try:
            await jetstream.stream_info(unique)
        except js_errors.NotFoundError:
            return False
        return True

    await eventually(exists)
    await jetstream.delete_stream(unique)
    bus.missing()
    await eventually(exists)


async def test_a_stream_with_another_configuration_is_brought_up_to_date(bus: Bus, unique: str) -> None:
    assert bus.jetstream is not None
    jetstream = bus.jetstream
    await jetstream.add_stream(StreamSpec(unique, [f"{unique}.>"], max_age_s=60).config(1))
    bus.declare(StreamSpec(unique, [f"{unique}.>"], max_age_s=600))

    async def updated() -> bool:
        return (await jetstream.stream_info(unique)).config.max_age == 600

    await eventually(updated)


# --- Buckets


async def test_keys_and_values(bus: Bus, unique: str) -> None:
    bus.declare(BucketSpec(unique))
    assert await bus.put(unique, "a.b", b"1") == 1
    assert await bus.put(unique, "a.b", b"2") == 2
    assert await bus.get(unique, "a.b") == b"2"
    assert await bus.get(unique, "a.c") is None
    await bus.delete(unique, "a.b")
    assert await bus.get(unique, "a.b") is None


async def test_reading_a_bucket_that_is_not_there_has_it_made(bus: Bus, unique: str) -> None:
    with pytest.raises(Failure, match="is being made again"):
        await bus.get(unique, "key")


async def test_a_watch_tells_what_is_what_changes_and_what_expires(bus: Bus, unique: str) -> None:
    changes: list[WatchEvent] = []

    async def watched(event: WatchEvent) -> None:
        changes.append(event)
        if event.value == b"crash":
            raise RuntimeError("the handler's own fault")

    bus.declare(BucketSpec(unique, ttl_s=1, limit_marker_ttl_s=5))
    await bus.put(unique, "a", b"1")
    watch = bus.watch(unique, watched)
    await eventually(lambda: WatchEvent(Change.CURRENT) in changes)
    await bus.put(unique, "b", b"crash")
    await bus.put(unique, "c", b"2")
    await bus.delete(unique, "c")
    await eventually(lambda: {"a", "b"} <= {event.key for event in changes if event.change is Change.EXPIRED})
    told = [(event.change, event.key) for event in changes]
    assert told[:6] == [
        (Change.RESET, ""),
        (Change.PUT, "a"),
        (Change.CURRENT, ""),
        (Change.PUT, "b"),
        (Change.PUT, "c"),
        (Change.DELETED, "c"),
    ]
    await bus.unwatch(watch)
    await bus.put(unique, "d", b"3")
    await bus.flush()
    assert "d" not in [event.key for event in changes]
