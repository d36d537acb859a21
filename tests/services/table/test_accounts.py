from __future__ import annotations

import asyncio
import time
import uuid

import asyncpg
import grpc
import pytest

from omnipoly.runtime.bus import Bus, Message
from omnipoly.runtime.failures import Failure, from_rpc_error
from omnipoly.wire.gen.table.v1 import accounts_pb2 as pb
from omnipolyd.table.accounts import refreshing
from omnipolyd.table.accounts.store import AccountStore
from tests.services.table.accounts import ISSUER, SERVICE, Accounts
from tests.services.table.calling import Caller
from tests.services.table.conftest import Serve
from tests.services.table.replicas import Replica
from tests.services.waiting import eventually


@pytest.fixture
def accounts(caller: Caller) -> Accounts:
    return Accounts(caller.link)


async def refused(awaitable: object) -> Failure:
    with pytest.raises(Failure) as caught:
        await awaitable  # type: ignore[misc]
    return caught.value


# --- Persons


async def test_the_same_sign_in_is_the_same_person_under_their_newest_name(accounts: Accounts, unique: str) -> None:
    ann = await accounts.person(unique, "Ann")
    again = await accounts.call("UpsertPerson", pb.UpsertPersonRequest(issuer=ISSUER, subject=unique, name="Anna"))
    assert (again.person.person, again.person.name, again.created) == (ann.person, "Anna", False)
    assert ann.person.startswith("oidc:")
    assert unique not in ann.person
    assert not ann.guest
    assert (await accounts.person(unique, issuer="https://another.example")).person != ann.person
    read = await accounts.call("GetPerson", pb.GetPersonRequest(person=ann.person))
    assert read.person == again.person


async def test_of_a_guest_only_the_id_is_kept(accounts: Accounts, replica: Replica, unique: str) -> None:
    guest = await accounts.person(unique, "Bo", issuer="")
    assert guest.guest
    assert guest.person.startswith("guest:")
    row = await replica.app.database.fetchrow("SELECT * FROM persons WHERE person = $1", guest.person)
    assert unique not in str(row)


@pytest.mark.parametrize(
    "request_",
    [
        pb.UpsertPersonRequest(issuer="x" * 257, subject="s", name="Ann"),
        pb.UpsertPersonRequest(issuer=ISSUER, subject="", name="Ann"),
        pb.UpsertPersonRequest(issuer=ISSUER, subject="a\0b", name="Ann"),
        pb.UpsertPersonRequest(issuer=ISSUER, subject="s", name=""),
        pb.UpsertPersonRequest(issuer=ISSUER, subject="s", name="x" * 41),
    ],
)
async def test_persons_that_are_none(accounts: Accounts, request_: pb.UpsertPersonRequest) -> None:
    assert (await refused(accounts.call("UpsertPerson", request_))).reason == "bad_request"


async def test_nobody(accounts: Accounts) -> None:
    calls = [
        accounts.call("GetPerson", pb.GetPersonRequest(person="oidc:nobody")),
        accounts.open("oidc:nobody"),
        accounts.ban("oidc:nobody"),
        accounts.set_roles("oidc:nobody", "admin"),
    ]
    for call in calls:
        assert (await refused(call)).status is grpc.StatusCode.NOT_FOUND


# --- Sessions


async def test_each_refresh_token_is_good_once(accounts: Accounts) -> None:
    ann = await accounts.person()
    opened = await accounts.open(ann.person)
    tokens = [opened.refresh_token]
    for _ in range(3):
        renewed = await accounts.renew(tokens[-1])
        assert renewed.person.person == ann.person
        assert renewed.session == opened.session
        tokens.append(renewed.refresh_token)
    assert len(set(tokens)) == 4


async def test_one_that_was_used_ends_the_session(accounts: Accounts) -> None:
    opened = await accounts.open((await accounts.person()).person)
    second = (await accounts.renew(opened.refresh_token)).refresh_token
    third = (await accounts.renew(second)).refresh_token
    failure = await refused(accounts.renew(opened.refresh_token))
    assert (failure.status, failure.reason) == (grpc.StatusCode.UNAUTHENTICATED, "sign_in_required")
    assert (await refused(accounts.renew(third))).reason == "sign_in_required"
    assert [one.session for one in await accounts.revocations() if one.session == opened.session]


async def test_a_lost_answer_is_given_again_and_changes_nothing(accounts: Accounts, replica: Replica) -> None:
    ann, request_id = await accounts.person(), uuid.uuid4().hex
    opened = await accounts.open(ann.person, request_id)
    assert (await accounts.open(ann.person, request_id)) == opened
    assert (await refused(accounts.open((await accounts.person()).person, request_id))).reason == "sign_in_required"
    first = await accounts.renew(opened.refresh_token, "same")
    again = await accounts.renew(opened.refresh_token, "same")
    assert again.refresh_token == first.refresh_token
    # a minute later it is somebody else's
    await replica.app.database.execute(
        "UPDATE sessions SET renewed_at = renewed_at - interval '1 minute' WHERE session = $1", opened.session
    )
    assert (await refused(accounts.renew(opened.refresh_token, "same"))).reason == "sign_in_required"
    assert (await refused(accounts.renew(first.refresh_token))).reason == "sign_in_required"


async def test_of_many_at_once_with_the_same_token_one_goes_on_or_none(accounts: Accounts) -> None:
    opened = await accounts.open((await accounts.person()).person)
    outcomes = await asyncio.gather(*(accounts.renew(opened.refresh_token) for _ in range(8)), return_exceptions=True)
    renewed = [one for one in outcomes if not isinstance(one, BaseException)]
    assert len(renewed) == 1
    # used twice: whoever was first has lost it too
    assert (await refused(accounts.renew(renewed[0].refresh_token))).reason == "sign_in_required"


async def test_what_was_made_up_ends_nothing(accounts: Accounts) -> None:
    opened = await accounts.open((await accounts.person()).person)
    session, generation, secret, mark = opened.refresh_token.split(".")
    other = secret[:-2] + ("AA" if not secret.endswith("AA") else "BB")
    for token in [
        "",
        "sesame",
        "x" * 300,
        f"{session}.{generation}.{secret}",
        f"{session}.{generation}.{secret}.",
        f"{session}.2.{secret}.{mark}",
        f"{session}.0.{secret}.{mark}",
        f"{session}.{generation}.{other}.{mark}",
        f"{session}.{generation}.{secret}.{'A' * len(mark)}",
        f"{session[:-1]}_.{generation}.{secret}.{mark}",
        f"{session}.{'9' * 30}.{secret}.{mark}",
        f"{session}.\u0661.{secret}.{mark}",
    ]:
        assert (await refused(accounts.renew(token))).reason == "sign_in_required"
        assert await accounts.revoke(token) == 0
    await accounts.renew(opened.refresh_token)


async def test_a_session_that_has_ended(accounts: Accounts, replica: Replica) -> None:
    opened = await accounts.open((await accounts.person()).person)
    await replica.app.database.execute(
        "UPDATE sessions SET expires_at = clock_timestamp() WHERE session = $1", opened.session
    )
    assert (await refused(accounts.renew(opened.refresh_token))).reason == "sign_in_required"


async def test_a_guest_has_an_end_of_their_own(accounts: Accounts, unique: str) -> None:
    for issuer, ends_in_s in (("", 300), (ISSUER, 600)):
        opened = await accounts.open((await accounts.person(unique, issuer=issuer)).person)
        renewed = await accounts.renew(opened.refresh_token)
        assert abs(renewed.expires.seconds - time.time() - ends_in_s) < 60


async def test_a_sign_in_is_good_once(accounts: Accounts, unique: str) -> None:
    ann = await accounts.person()
    first = await accounts.open(ann.person, request_id=f"a{unique:_<20}", sign_in=unique)
    assert await accounts.open(ann.person, request_id=f"a{unique:_<20}", sign_in=unique) == first
    failure = await refused(accounts.open(ann.person, sign_in=unique))
    assert (failure.reason, failure.sentence) == ("sign_in_required", "That sign-in was used before.")


@pytest.mark.parametrize(("ends_in_s", "request_id"), [(-1, ""), (367 * 86400, ""), (600, "short"), (600, "x" * 65)])
async def test_openings_that_are_none(accounts: Accounts, ends_in_s: float, request_id: str) -> None:
    ann = await accounts.person()
    assert (await refused(accounts.open(ann.person, request_id, ends_in_s))).reason == "bad_request"


async def test_ending_one_session_or_all(accounts: Accounts) -> None:
    ann, bob = await accounts.person(), await accounts.person()
    first, second, third = [await accounts.open(ann.person) for _ in range(3)]
    others = await accounts.open(bob.person)
    assert await accounts.revoke(first.refresh_token) == 1
    assert await accounts.revoke(first.refresh_token) == 0
    assert (await refused(accounts.renew(first.refresh_token))).reason == "sign_in_required"
    # a token that is not good any more ends its own session and no other
    assert await accounts.revoke(first.refresh_token, all_=True) == 0
    renewed = await accounts.renew(second.refresh_token)
    assert await accounts.revoke(renewed.refresh_token, all_=True) == 2
    assert (await refused(accounts.renew(third.refresh_token))).reason == "sign_in_required"
    await accounts.renew(others.refresh_token)


async def test_a_used_token_still_ends_its_session(accounts: Accounts) -> None:
    opened = await accounts.open((await accounts.person()).person)
    renewed = await accounts.renew(opened.refresh_token)
    assert await accounts.revoke(opened.refresh_token) == 1
    assert (await refused(accounts.renew(renewed.refresh_token))).reason == "sign_in_required"


async def test_rows_hold_no_token(accounts: Accounts, replica: Replica) -> None:
    opened = await accounts.open((await accounts.person()).person)
    renewed = await accounts.renew(opened.refresh_token, "renewal")
    row = await replica.app.database.fetchrow("SELECT * FROM sessions WHERE session = $1", opened.session)
    held = [bytes(value) for value in row.values() if isinstance(value, bytes)]
    for text in (opened.refresh_token, renewed.refresh_token):
        token = refreshing.parse(text)
        assert token is not None
        assert token.secret not in held
        # nor can what is held be made into one
        for value in held:
            made = token._replace(secret=value[:32].ljust(32, b"\0"))
            assert (await refused(accounts.renew(made.text()))).reason == "sign_in_required"
    await accounts.renew(renewed.refresh_token)


# --- Bans and roles


async def test_a_ban_ends_every_session_and_keeps_out_until_it_is_lifted(accounts: Accounts) -> None:
    ann = await accounts.person()
    opened = await accounts.open(ann.person)
    banned = await accounts.ban(ann.person, reason="Spoils games")
    assert banned.ban_reason == "Spoils games"
    assert banned.banned_until.ToDatetime().year == 9999
    assert (await refused(accounts.renew(opened.refresh_token))).reason == "banned"
    failure = await refused(accounts.open(ann.person))
    assert (failure.status, failure.reason) == (grpc.StatusCode.PERMISSION_DENIED, "banned")
    assert failure.sentence == "You are banned: Spoils games."
    lifted = await accounts.ban(ann.person, lift=True)
    assert not lifted.HasField("banned_until")
    assert (await refused(accounts.renew(opened.refresh_token))).reason == "sign_in_required"
    await accounts.open(ann.person)


async def test_a_ban_with_an_end(accounts: Accounts, replica: Replica) -> None:
    ann = await accounts.person()
    until = pb.BanRequest().until
    until.FromSeconds(int(time.time()) + 3600)
    assert (await accounts.ban(ann.person, until=until)).banned_until == until
    assert "until 20" in (await refused(accounts.open(ann.person))).sentence
    await replica.app.database.execute(
        "UPDATE persons SET banned_until = clock_timestamp() WHERE person = $1", ann.person
    )
    await accounts.open(ann.person)
    until.FromSeconds(int(time.time()) - 1)
    assert (await refused(accounts.ban(ann.person, until=until))).reason == "bad_request"


async def test_roles_are_counted(accounts: Accounts) -> None:
    ann = await accounts.person()
    assert (list(ann.roles), ann.stamp) == ([], 0)
    given = await accounts.set_roles(ann.person, "moderator", "admin", "moderator")
    assert (list(given.roles), given.stamp) == (["admin", "moderator"], 1)
    assert (await accounts.set_roles(ann.person, "admin", "moderator")).stamp == 1
    opened = await accounts.open(ann.person)
    assert list((await accounts.renew(opened.refresh_token)).person.roles) == ["admin", "moderator"]
    assert (await accounts.set_roles(ann.person)).stamp == 2
    for roles in (["bots"], ["Admin"], ["x" * 33], [f"r{n}" for n in range(9)], [""]):
        assert (await refused(accounts.set_roles(ann.person, *roles))).reason == "bad_request"


async def test_the_first_admins_stand_in_the_settings(serve: Serve, unique: str) -> None:
    one = await serve()
    ann = await Accounts(one.caller.link).person(unique)
    other = await serve(admins=f"oidc:nobody, {ann.person}")
    assert list((await Accounts(other.caller.link).person(unique)).roles) == ["admin"]
    assert list((await Accounts(one.caller.link).person(unique)).roles) == []


# --- Telling those who check tokens


async def test_what_is_revoked_is_published_and_listed(accounts: Accounts, nats_url: str) -> None:
    heard: list[pb.Revocation] = []
    bus = Bus(nats_url, name="gateway")
    await bus.start()

    async def hear(message: Message) -> None:
        heard.append(pb.Revocation.FromString(message.data))

    await bus.subscribe("omnipoly.accounts", hear)
    await bus.flush()
    ann = await accounts.person()
    begun_s = time.time() - 1
    first, second = await accounts.open(ann.person), await accounts.open(ann.person)
    await accounts.revoke(first.refresh_token)
    await accounts.set_roles(ann.person, "admin")
    await accounts.ban(ann.person)

    def about_ann(given: list[pb.Revocation]) -> set[tuple[str, bool, int]]:
        return {(one.session, one.HasField("banned_until"), one.stamp) for one in given if one.person == ann.person}

    ended = {(first.session, False, 0), (second.session, False, 0)}
    await eventually(lambda: about_ann(heard) == ended | {("", False, 1), ("", True, 1)})
    assert about_ann(await accounts.revocations()) == ended | {("", True, 1)}
    assert about_ann(await accounts.revocations(begun_s, page_size=1)) == ended | {("", True, 1)}
    assert about_ann(await accounts.revocations(time.time() + 60)) == set()
    await accounts.ban(ann.person, lift=True)
    assert about_ann(await accounts.revocations(begun_s)) == ended | {("", False, 1)}
    await bus.close()


async def test_bans_that_hold_are_listed_however_old_they_are(accounts: Accounts, replica: Replica) -> None:
    ann, bob = await accounts.person(), await accounts.person()
    opened = await accounts.open(ann.person)
    await accounts.ban(ann.person)
    await accounts.set_roles(bob.person, "admin")
    database = replica.app.database
    await database.execute("UPDATE persons SET changed_at = changed_at - interval '3 hours'")
    await database.execute("UPDATE sessions SET ended_at = ended_at - interval '3 hours'")
    listed = [(one.person, one.session) for one in await accounts.revocations()]
    assert (ann.person, "") in listed
    assert (bob.person, "") not in listed
    assert (ann.person, opened.session) not in listed


async def test_what_nobody_needs_is_deleted(serve: Serve, log_url: str) -> None:
    replica = await serve()
    accounts = Accounts(replica.caller.link)
    guest, stays, banned = [await accounts.person(name, issuer="") for name in ("gone", "stays", "banned")]
    signed_in = await accounts.person("somebody")
    for person in (guest, stays, signed_in):
        await accounts.open(person.person)
    await accounts.ban(banned.person)
    connection = await asyncpg.connect(log_url)
    await connection.execute("UPDATE persons SET created_at = created_at - interval '25 hours'")
    await connection.execute(
        "UPDATE sessions SET expires_at = now() - interval '25 hours' WHERE person <> $1", stays.person
    )
    assert not await AccountStore(replica.app.database).sweep()
    rows = await connection.fetch("SELECT person FROM persons")
    await connection.close()
    assert {row["person"] for row in rows} == {stays.person, banned.person, signed_in.person}


async def test_the_same_by_plain_calls(replica: Replica) -> None:
    async with grpc.aio.insecure_channel(replica.app.address) as channel:
        call = channel.unary_unary(f"{SERVICE}GetPerson")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(pb.GetPersonRequest(person="oidc:nobody").SerializeToString())
        assert from_rpc_error(caught.value).sentence == "There is no such person."
        made = await channel.unary_unary(f"{SERVICE}UpsertPerson")(
            pb.UpsertPersonRequest(issuer=ISSUER, subject="plain", name="Plain").SerializeToString()
        )
        assert pb.UpsertPersonResponse.FromString(made).person.name == "Plain"
