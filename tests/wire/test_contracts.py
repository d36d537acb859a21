"""What the contracts promise beyond what buf checks."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import pytest
from google.protobuf.descriptor import Descriptor, FileDescriptor

from omnipoly.rules.codes import Code
from omnipoly.wire import gen
from omnipoly.wire.gen.game.v1 import codes_pb2
from omnipoly.wire.gen.gateway.v1 import play_pb2, watch_pb2


def files() -> Iterator[FileDescriptor]:
    for module in pkgutil.walk_packages(gen.__path__, f"{gen.__name__}."):
        if module.name.endswith("_pb2"):
            yield importlib.import_module(module.name).DESCRIPTOR


FILES = list(files())
PUBLIC = [file for file in FILES if file.package in ("omnipoly.game.v1", "omnipoly.gateway.v1")]


def inside(message: Descriptor, seen: set[str]) -> Iterator[Descriptor]:
    if message.full_name in seen:
        return
    seen.add(message.full_name)
    yield message
    for field in message.fields:
        if field.message_type is not None:
            yield from inside(field.message_type, seen)


def test_codes_are_those_of_the_rules() -> None:
    names = set(codes_pb2.Code.keys()) - {"CODE_UNSPECIFIED"}
    assert names == {f"CODE_{code.name}" for code in Code}


def test_play_and_watch_share_numbers_and_types() -> None:
    play, watch = play_pb2.PlayResponse.DESCRIPTOR, watch_pb2.WatchResponse.DESCRIPTOR
    assert len(watch.fields) == 7
    for field in watch.fields:
        twin = play.fields_by_name[field.name]
        kinds = (play, watch) if field.name == "along" else (field.message_type, field.message_type)
        assert (twin.number, twin.message_type, field.message_type) == (field.number, *kinds)


def test_one_message_goes_to_players_and_viewers() -> None:
    shared = play_pb2.PlayResponse()
    shared.progress.table = "t1"
    seen = watch_pb2.WatchResponse.FromString(shared.SerializeToString())
    assert seen.progress.table == "t1"


@pytest.mark.parametrize("file", PUBLIC, ids=lambda file: file.name)
def test_who_acts_is_never_said_by_a_client(file: FileDescriptor) -> None:
    for service in file.services_by_name.values():
        for method in service.methods:
            for message in inside(method.input_type, set()):
                if message.full_name == "omnipoly.game.v1.TableView":
                    continue  # a position names its seats
                names = {field.name for field in message.fields}
                assert not names & {"identity", "actor", "by", "player"} - _own(message), message.full_name
                assert not message.full_name.startswith("omnipoly.table."), method.full_name


def _own(message: Descriptor) -> set[str]:
    """``by`` of a duration, and the admin that a list is asked for, are not who acts."""
    names = {"omnipoly.gateway.v1.ListAuditRequest", "omnipoly.gateway.v1.AdvanceRequest"}
    game = {f"omnipoly.game.v1.{name}" for name in ("MoveClocks", "Advance", "OpenVote")}
    return {"by"} if message.full_name in names | game else set()


@pytest.mark.parametrize("file", PUBLIC, ids=lambda file: file.name)
def test_public_contracts_stand_by_themselves(file: FileDescriptor) -> None:
    for other in file.dependencies:
        assert other.package.split(".")[:2] in (["google", "protobuf"], ["google", "rpc"]) or other in PUBLIC, (
            other.name
        )


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_lists_have_page_tokens(file: FileDescriptor) -> None:
    for service in file.services_by_name.values():
        for method in service.methods:
            if method.name.startswith("List"):
                assert {"page_size", "page_token"} <= set(method.input_type.fields_by_name), method.full_name
                assert "next_page_token" in method.output_type.fields_by_name, method.full_name
