"""What is tried. Each trial's docstring: what the peer does, and what a client should do then."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from omnipoly.rules import actions as act
from omnipoly.rules.codes import Code
from omnipoly.runtime import refusals
from omnipoly.wire.failures import unavailable
from omnipoly.wire.gen.game.v1 import commit_pb2
from omnipoly.wire.gen.gateway.v1 import play_pb2, stream_pb2

from .peer import FEWEST_MS, Asked, Called, Ended, Fallen, Gone, Opened, Peer, Reply, Wrong, new_refusal, token_expired

Trial = Callable[[Peer], Awaitable[str]]
QUIET_S = 0.3
BEGIN_S = 30.0
"""How long a client may take to start, sign in and sit down."""


async def acts(p: Peer) -> str:
    """A stream is opened, a table is followed, a decision is told.
    It is answered by a command that names it, or the version it was decided on."""
    request = await p.command(max(p.patience_s, BEGIN_S), wanted="answers its first decision")
    p.accept(request)
    if not request.prompt_id and not request.if_version:
        raise Wrong(
            "a command names neither prompt_id nor if_version: late, it is taken for an answer to something else"
        )
    return "it acts, and says what its command answers"


async def along(p: Peer) -> str:
    """Several messages come as one, with the decision along.
    All of them are taken, in order."""
    p.accept(await p.command(), prompt=False)
    shown = [Reply(commit=commit) for commit in _pass_time(p, 2)]
    prompt = p.table.prompt(p.person)
    if prompt is None:
        raise Gone("the client's seat has nothing to decide any more")
    p.send(*shown, Reply(prompt=prompt))
    p.accept(await p.command(wanted="answers a prompt that came along with a commit"), prompt=False)
    p.close()
    p.show(await p.resumed())
    return "it takes what comes along"


async def prompt_twice(p: Peer) -> str:
    """A decision is told twice.
    It is answered once."""
    p.accept(await p.command(), prompt=False)
    p.prompt()
    p.prompt()
    request = await p.command()
    await p.quiet(QUIET_S, "it answered the same prompt twice, under two ids", request.prompt_id)
    p.accept(request)
    return "it answers a decision once, however often that is told"


async def commits_twice(p: Peer) -> str:
    """Commits that are known come again, then the stream ends in order.
    They change nothing: the client resumes at the newest."""
    p.accept(await p.command(), prompt=False)
    first = p.table.version
    p.pass_time()
    p.pass_time()
    for version in (first + 1, first + 2, first):
        p.send(Reply(commit=p.commits(version - 1, version)[0]))
    p.close()
    p.show(await p.resumed())
    return "it ignores what it knows"


async def broken(p: Peer) -> str:
    """The connection breaks; the table moves on meanwhile.
    The client comes back by itself, and resumes where it stands."""
    p.accept(await p.command(), prompt=False)
    least = p.proven
    p.cut()
    follow = await p.resumed(least)
    _pass_time(p, 2)
    p.show(follow)
    return "it comes back and resumes"


async def missed(p: Peer) -> str:
    """The stream ends in order. What was missed is sent, and the stream ends again.
    The client resumes at what it was sent."""
    p.accept(await p.command(), prompt=False)
    p.close()
    follow = await p.resumed()
    _pass_time(p, 3)
    shown = p.commits(follow.resume.version)
    for commit in shown:
        p.send(Reply(commit=commit))
    p.close()
    p.show(await p.resumed())
    return "it takes what it has missed, once"


async def lost_answer(p: Peer) -> str:
    """A command is done, and its answer is lost with the connection.
    The client sends it again under its id, or finds it in the commits it has missed; never under another id."""
    request = await p.command()
    p.decide(request)
    p.cut()
    p.show(await p.resumed(p.proven))
    answer = await p.command(wanted="goes on")
    if answer.prompt_id and answer.prompt_id == request.prompt_id:
        raise Wrong("it sent a command again under another id: that may do it twice")
    p.accept(answer)
    return "a command whose answer is lost is done once"


async def lost_command(p: Peer) -> str:
    """A command is lost with the connection before it is done.
    The client sends it again under its id: nobody knows yet that it was lost."""
    request = await p.command()
    p.cut()
    p.show(await p.resumed(p.proven))
    again = await p.command(wanted="sends again what has no answer")
    if again.command_id != request.command_id:
        raise Wrong("what had no answer came back under another id: had it been done, it would be done twice")
    p.accept(again)
    return "a command without an answer is sent again under its id"


async def slow_answer(p: Peer) -> str:
    """An answer takes its time.
    The client waits, or sends the same again under the same id."""
    request = await p.command()
    await p.quiet(p.slow_s, "it did not wait for a slow answer, and sent another command", request.prompt_id)
    p.accept(request)
    return "it waits for a slow answer"


async def rate_limited(p: Peer) -> str:
    """A command is refused with RATE_LIMITED and RetryInfo.
    It is sent again, and not before the time that RetryInfo names."""
    request = await p.command()
    loop = asyncio.get_running_loop()
    p.refuse(request, refusals.failure(Code.RATE_LIMITED, retry_after_s=p.retry_s))
    began = loop.time()
    again = await p.command(wanted="tries again after RATE_LIMITED")
    early_ms = (began + p.retry_s - loop.time()) * 1000
    if early_ms > FEWEST_MS:
        raise Wrong(f"it tried again {early_ms:.0f} ms before RetryInfo said")
    p.accept(again)
    return "it waits as long as it is told to"


async def unknown_outcome(p: Peer) -> str:
    """A command is done and yet refused with UNAVAILABLE: nobody knows what became of it.
    It is sent again under its id."""
    request = await p.command()
    before = p.table.version
    version = p.decide(request)
    p.refuse(request, unavailable("The log cannot be reached.", retry_after_s=0.2))
    while True:
        try:
            event = await p.next()
        except TimeoutError:
            raise Wrong("it never asked again for a command whose outcome is unknown") from None
        asked = event.request if isinstance(event, Asked) else None
        if asked is None or asked.WhichOneof("request") not in ("act", "ask_legal"):
            p.usual(event)
        elif asked.WhichOneof("request") == "act":
            if asked.act.command_id != request.command_id:
                p.refuse(asked.act, refusals.failure(Code.STALE_PROMPT))
                raise Wrong("after UNAVAILABLE it sent another command under another id: both may be done")
            break
    for commit in p.commits(before):
        p.send(Reply(commit=commit))
    p.answered(request.command_id, version, duplicate=True)
    p.prompt()
    return "after UNAVAILABLE it sends the same again under the same id"


async def refused_unknown(p: Peer) -> str:
    """A command is refused for a reason that no client knows.
    The client goes on: it asks what it may do instead, and does it."""
    failure = new_refusal()
    p.refuse(await p.command(), failure)  # the decision stays open, and is not told again
    p.accept(await p.command(wanted=f"asks what it may do, and acts, after {failure.reason.upper()}"))
    return "it can take a reason that it does not know"


async def refused_stale(p: Peer) -> str:
    """A command is refused with STALE_PROMPT, and the decision told anew.
    The client takes the newest prompt."""
    p.refuse(await p.command(), refusals.failure(Code.STALE_PROMPT))
    p.prompt()
    p.accept(await p.command(wanted="acts again after STALE_PROMPT"))
    return "after STALE_PROMPT it looks again"


async def snapshot(p: Peer) -> str:
    """Who comes back gets a whole picture in place of what was missed; then the stream ends.
    The client stands where the picture does."""
    p.accept(await p.command(), prompt=False)
    p.close()
    follow = await p.resumed()
    _pass_time(p, 2)
    p.show(follow, picture=True, prompt=False)
    p.close()
    p.show(await p.resumed())
    return "it takes a picture in place of commits"


async def epoch(p: Peer) -> str:
    """The log goes on from an earlier version in a new epoch: a picture comes that is older than what was shown.
    The client stands where the picture does, in its epoch."""
    p.accept(await p.command(), prompt=False)
    before = p.table.version
    p.pass_time()
    p.pass_time()
    p.table.rewind(before)
    p.picture()
    p.close()
    p.show(await p.resumed())
    return "it believes the picture of a new epoch"


async def unknown_kinds(p: Peer) -> str:
    """A message and an event come that no client knows; the event need not be understood.
    Both are passed over; the commit counts."""
    p.accept(await p.command(), prompt=False)
    p.send(play_pb2.PlayResponse.FromString(_tagged(999, b"new")))
    p.pass_time(_unknown(must=False))
    p.prompt()
    p.accept(await p.command(wanted="goes on after what it does not know"), prompt=False)
    p.pass_time(_unknown(must=False))
    p.close()
    p.show(await p.resumed())
    return "it passes over what it does not know"


async def must_understand(p: Peer) -> str:
    """An event comes that no client knows and that must be understood.
    The client takes a fresh picture: it follows without resume, or reads the table."""
    p.accept(await p.command(), prompt=False)
    p.pass_time(_unknown(must=True))
    fresh = "it went on without a fresh picture after an event that it must understand and does not"
    while True:
        try:
            event = await p.next()
        except TimeoutError:
            raise Wrong(fresh) from None
        if isinstance(event, Asked) and event.request.HasField("follow"):
            if event.request.follow.resume.version:
                p.usual(event)
                raise Wrong(fresh)
            p.usual(event)
            break
        p.usual(event)
        if isinstance(event, Called) and event.method == "get_table":
            p.prompt()
            break
    return "it takes a fresh picture where it does not understand"


async def reconnect(p: Peer) -> str:
    """The server says that the stream ends soon, and when to come back; then it ends it.
    The client opens another, not before that time, and resumes."""
    p.accept(await p.command(), prompt=False)
    message = stream_pb2.Reconnect(reason=stream_pb2.Reconnect.REASON_DRAINING)
    message.after.FromMilliseconds(round(p.retry_s * 1000))
    p.send(Reply(reconnect=message))
    began, loop = asyncio.get_running_loop().time(), asyncio.get_running_loop()
    p.close()
    await p.until(Opened, "it did not open another stream after `reconnect`")
    early_ms = (began + p.retry_s - loop.time()) * 1000
    p.show(await p.resumed())
    if early_ms > FEWEST_MS:
        raise Wrong(f"it came back {early_ms:.0f} ms before it was asked to")
    return "it comes back when it is asked to"


async def token(p: Peer) -> str:
    """The stream ends with TOKEN_EXPIRED.
    The client renews its session, and resumes under the new token."""
    p.accept(await p.command(), prompt=False)
    stream = p.stream
    if stream is None:
        raise Wrong("its stream has ended")
    p.services.expire(stream.token)
    p.cut(token_expired())
    while True:
        event = await p.until(Called, "it did not call Refresh after TOKEN_EXPIRED")
        assert isinstance(event, Called)
        if event.method == "refresh":
            break
        if event.method == "sign_in":
            raise Wrong("after TOKEN_EXPIRED it signed in as somebody else: Refresh goes on as the same person")
    p.show(await p.resumed(p.proven))
    return "it renews its session"


async def over(p: Peer) -> str:
    """The game ends.
    The client closes its stream, and comes to an end."""
    request = await p.command()
    before = p.table.version
    p.table.act("admin:peer", act.CloseTable())
    for commit in p.commits(before):
        p.send(Reply(commit=commit))
    p.refuse(request, refusals.failure(Code.TABLE_CLOSED))
    if p.stream is not None and not p.left.is_set():
        try:
            await p.until(Ended, "it did not close its stream when the game was over")
        except Fallen:
            return "it leaves when the game is over"
    return "it leaves when the game is over"


TRIALS: dict[str, Trial] = {
    trial.__name__: trial
    for trial in (
        acts,
        along,
        prompt_twice,
        commits_twice,
        broken,
        missed,
        lost_answer,
        lost_command,
        slow_answer,
        rate_limited,
        unknown_outcome,
        refused_unknown,
        refused_stale,
        snapshot,
        epoch,
        unknown_kinds,
        must_understand,
        reconnect,
        token,
        over,
    )
}
"""By name, in the order in which they are tried; the last one ends the game."""


def _pass_time(p: Peer, times: int) -> list[commit_pb2.Commit]:
    """So many commits that change nothing but the clocks, not shown."""
    before = p.table.version
    for _ in range(times):
        p.table.pass_time()
    return p.commits(before)


def _unknown(*, must: bool) -> bytes:
    """Bytes of a commit: one further event, of a kind that nobody knows."""
    event = (b"\x08\x01" if must else b"") + _tagged(999, b"new")
    return _tagged(8, event)


def _tagged(number: int, data: bytes) -> bytes:
    """A field of bytes, as protobuf writes it."""
    tag, key = number << 3 | 2, b""
    while tag > 0x7F:
        key += bytes((tag & 0x7F | 0x80,))
        tag >>= 7
    return key + bytes((tag, len(data))) + data
