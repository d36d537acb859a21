from __future__ import annotations

import grpc
import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime.failures import Failure, from_status
from omnipoly.wire.gen.gateway.v1 import play_pb2, stream_pb2
from tests.services.gateway.calling import Client, Playing, Stack, game, unique_id
from tests.services.waiting import eventually


async def following(client: Client, table: str) -> Playing:
    """A stream that follows a table and has heard everything so far, its prompt included."""
    stream = client.play()
    await stream.follow(table)
    assert await stream.kinds_until("prompt") == ["snapshot", "progress", "prompt"]
    return stream


async def test_following_begins_with_a_snapshot_and_the_open_decision(running: Stack, ann: Client, bob: Client) -> None:
    table = await game(ann, bob)
    stream = ann.play()
    await stream.follow(table)
    snapshot = await stream.next("snapshot")
    assert snapshot.view.table == table
    assert snapshot.resume == stream_pb2.Resume(epoch=snapshot.view.epoch, version=snapshot.view.version)
    progress = await stream.next()
    assert progress.table == table
    assert progress.version == 3
    assert progress.resume == snapshot.resume
    assert progress.server_time.seconds
    prompt = await stream.next("prompt")
    assert prompt.prompt_id == 1
    assert prompt.actions[0].kind == "roll"


async def test_an_action_is_accepted_behind_its_commit(running: Stack, ann: Client, bob: Client) -> None:
    table = await game(ann, bob)
    mine, others = await following(ann, table), await following(bob, table)
    command_id = await mine.send_act(table, act.Roll(), prompt_id=1)
    commit = await mine.next()
    assert (commit.version, commit.command_id, commit.actor[:9]) == (4, command_id, "guest:ann")
    accepted = await mine.next("accepted")
    assert (accepted.command_id, accepted.table, accepted.version) == (command_id, table, 4)
    assert not accepted.duplicate
    assert await others.next() == commit


async def test_acting_without_following(running: Stack, ann: Client, bob: Client) -> None:
    table = await game(ann, bob)
    stream = ann.play()
    assert (await stream.act(table, act.Roll())).version == 4
    assert (await stream.refused(table, act.Roll())).reason == "not_your_turn"


async def test_a_refusal_names_the_command_and_ends_nothing(running: Stack, ann: Client, bob: Client) -> None:
    table = await game(ann, bob)
    stream = await following(ann, table)
    answer = await stream.act(table, act.EndTurn(), command_id="mine")
    assert (answer.command_id, answer.table) == ("mine", table)
    failure = from_status(answer.status)
    assert (failure.status, failure.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "not_your_turn")
    assert failure.sentence == "It is not your turn."
    assert (await stream.act(table, act.Roll())).version == 4


async def test_the_same_command_again_gives_the_first_answer(running: Stack, ann: Client, bob: Client) -> None:
    table = await game(ann, bob)
    stream = await following(ann, table)
    first = await stream.act(table, act.Roll(), command_id="once")
    await bob.act(table, act.Roll())
    await stream.next("commit")
    again = await stream.act(table, act.Roll(), command_id="once")
    assert again.duplicate
    assert (again.version, first.duplicate) == (first.version, False)
    # As a plain call it is the same command, too.
    plain = await ann.act(table, act.Roll(), command_id="once")
    assert (plain.version, plain.duplicate) == (first.version, True)
    assert (await stream.refused(table, act.EndTurn(), command_id="once")).reason == "key_reused"
    assert running.hub.rooms.find(table).version == 5


async def test_both_streams_of_a_person_get_everything(running: Stack, ann: Client, bob: Client) -> None:
    table = await game(ann, bob)
    one, other = await following(ann, table), await following(ann, table)
    await one.send_act(table, act.Roll())
    assert await one.kinds_until("accepted") == ["commit", "accepted"]
    await bob.act(table, act.Roll())
    # The answer goes to the one that asked; commits and the next decision, if it is Ann's, to both.
    heard = [await stream.up_to(5) for stream in (one, other)]
    assert [commit.version for commit in heard[1]] == [4, 5]
    assert heard[0] == heard[1][1:]
    await one.send_act(table, act.Vote(True))
    assert await one.next("refused")
    await other.send(ask_legal=play_pb2.AskLegal(table=table))
    kinds = await other.kinds_until("legal")
    assert "accepted" not in kinds
    assert "refused" not in kinds


async def test_a_decision_goes_to_all_streams_of_its_person(running: Stack, ann: Client, bob: Client) -> None:
    table = await game(ann, bob, edition="rugpull")
    streams = [await following(ann, table), await following(ann, table)]
    view = await ann.view(table)
    assert view.turn == 0
    # The other's decision is none of hers; hers comes with the commit that opened it, to both streams.
    await ann.act(table, act.Roll())
    prompts = [await stream.next("prompt") for stream in streams]
    assert prompts[0] == prompts[1]
    assert prompts[0].prompt_id > 1
    assert prompts[0].seat == 0


async def test_asking_what_one_may_do(running: Stack, ann: Client, bob: Client, viewer: Client) -> None:
    table = await game(ann, bob)
    stream = ann.play()
    await stream.send(ask_legal=play_pb2.AskLegal(table=table))
    legal = await stream.next()
    plain = await ann.call("Play/Legal", play_pb2.LegalRequest(table=table))
    assert plain.version == 3
    assert plain.prompt == legal
    assert "roll" in [action.kind for action in legal.actions]
    stranger = viewer.play()
    await stranger.send(ask_legal=play_pb2.AskLegal(table=table))
    assert from_status((await stranger.next("refused")).status).reason == "not_seated"
    with pytest.raises(Failure, match="no seat") as caught:
        await viewer.call("Play/Legal", play_pb2.LegalRequest(table=table))
    assert caught.value.status is grpc.StatusCode.PERMISSION_DENIED


async def test_several_tables_on_one_stream(running: Stack, ann: Client, bob: Client) -> None:
    tables = [await game(ann, bob) for _ in range(3)]
    stream = ann.play()
    for table in tables:
        await stream.follow(table)
    seen = {(await stream.next("progress")).table for _ in tables}
    assert seen == set(tables)
    for table in tables:
        assert (await stream.act(table, act.Roll())).table == table


async def test_no_longer_following(running: Stack, ann: Client, bob: Client) -> None:
    table = await game(ann, bob)
    stream = await following(ann, table)
    assert running.hub.rooms.find(table) is not None
    await stream.send(unfollow=play_pb2.Unfollow(table=table))
    left = await stream.next("left")
    assert (left.table, left.reason) == (table, stream_pb2.Left.REASON_UNFOLLOWED)
    # The last follower has gone, and the room and its subscription with them.
    assert running.hub.rooms.find(table) is None
    assert (await stream.act(table, act.Roll())).version == 4
    await stream.send(ask_legal=play_pb2.AskLegal(table=table))
    assert await stream.kinds_until("legal") == ["legal"]


async def test_following_again_begins_anew(running: Stack, ann: Client, bob: Client) -> None:
    table = await game(ann, bob)
    stream = await following(ann, table)
    await stream.follow(table)
    assert await stream.kinds_until("prompt") == ["snapshot", "progress", "prompt"]
    assert len(running.hub.rooms.find(table).followers) == 1
    await stream.send_act(table, act.Roll())
    assert await stream.kinds_until("accepted") == ["commit", "accepted"]


async def test_a_decision_is_told_alike_behind_its_commit_and_on_coming_back(
    running: Stack, ann: Client, bob: Client
) -> None:
    """CORE-SEAT: whoever comes back finds the decision as they left it, not all else that a seat may do."""
    table = await ann.create()
    await bob.act(table, act.Join("Bob"))
    stream, again = bob.play(), bob.play()
    await stream.follow(table)
    await stream.next("progress")
    await ann.act(table, act.Start())
    told = await stream.next("prompt")
    await again.follow(table)
    assert await again.next("prompt") == told


async def test_an_act_sent_behind_a_follow_is_answered_behind_its_commit(
    running: Stack, ann: Client, bob: Client
) -> None:
    table = await game(ann, bob)
    stream = ann.play()
    await stream.follow(table)
    await stream.send_act(table, act.Roll())
    version = 0
    while (message := await stream.read()).WhichOneof("response") != "accepted":
        if message.HasField("snapshot"):
            version = message.snapshot.view.version
        elif message.HasField("commit"):
            version = message.commit.version
    assert version >= message.accepted.version == 4


async def test_a_client_that_half_closes_gets_its_answers_first(running: Stack, ann: Client, bob: Client) -> None:
    table = await game(ann, bob)
    stream = ann.play()
    await stream.follow(table)
    command_id = await stream.send_act(table, act.Roll())
    await stream.close()
    assert (await stream.next("accepted")).command_id == command_id
    assert await stream.ended() is None


async def test_a_client_that_goes_leaves_nothing_behind(running: Stack, ann: Client, bob: Client) -> None:
    table = await game(ann, bob)
    stream = await following(ann, table)
    stream.raw.cancel()
    await eventually(lambda: running.hub.rooms.find(table) is None and not running.hub.streams)


async def test_every_action_has_its_plain_call(running: Stack, ann: Client, bob: Client) -> None:
    table = await game(ann, bob, edition="rugpull")
    answer = await ann.act(table, act.Roll())
    assert answer.version == 4
    assert [commit.version for commit in answer.commits] == [4]
    assert answer.commits[0].actor.startswith("guest:ann")
    # Not one of a response's fields is left over from what the table says to the gateway alone.
    assert type(answer).FromString(answer.SerializeToString()) == answer
    assert {field.name for field, _ in answer.ListFields()} == {"version", "commits"}
    for action in (act.Bid(1, 10), act.PayBail(), act.Travel(5), act.Pay(), act.Build(1), act.Accept(1), act.GiveUp()):
        with pytest.raises(Failure) as caught:
            await ann.act(table, action)
        assert caught.value.status in {grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.INVALID_ARGUMENT}
        assert caught.value.reason
        assert caught.value.sentence


async def test_many_commands_at_once_each_get_their_answer(running: Stack, ann: Client, bob: Client) -> None:
    table = await ann.create()
    stream = ann.play()
    sent = [await stream.send_act(table, act.SetOptions(round_limit=n + 1)) for n in range(30)]
    answers = [await stream.next("accepted", "refused") for _ in sent]
    assert sorted(answer.command_id for answer in answers) == sorted(sent)
    assert {answer.version for answer in answers} == set(range(2, 32))
    # Those of one stream for one table are done in the order in which they were sent.
    assert [answer.command_id for answer in sorted(answers, key=lambda one: one.version)] == sent


async def test_progress_after_silence(running: Stack, ann: Client, bob: Client) -> None:
    table = await game(ann, bob)
    stream = await following(ann, table)
    room = running.hub.rooms.find(table)
    room.shown_at -= 15
    running.hub.rooms._hurry.set()
    progress = await stream.next()
    assert (progress.table, progress.version, progress.resume.version) == (table, 3, 3)
    assert progress.server_time.seconds


async def test_a_command_whose_time_is_over_is_said_so(running: Stack, ann: Client, bob: Client) -> None:
    table = await game(ann, bob)
    stream = ann.play()
    act_ = play_pb2.Act(table=table, command_id=unique_id())
    act_.action.roll.SetInParent()
    act_.timeout.FromMilliseconds(1)
    # A millisecond is little: it may be enough, and then there is a commit.
    await stream.send(act=act_)
    answer = await stream.next("accepted", "refused")
    if isinstance(answer, play_pb2.Refused):
        assert from_status(answer.status).status is grpc.StatusCode.DEADLINE_EXCEEDED
    else:
        assert answer.version == 4
