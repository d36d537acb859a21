"""The table service's life: what it is made of, in which order it comes up and goes down."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from omnipoly.runtime import logging, unary
from omnipoly.runtime.app import Service
from omnipoly.runtime.database import FAULTS
from omnipoly.runtime.errors import StartError

from .accounts import servicer as accounts
from .accounts.servicer import AccountServicer
from .accounts.store import AccountStore
from .admin import servicer as admin
from .admin.audit import Audit
from .admin.servicer import AdminServicer
from .admin.store import AdminStore
from .catalogue import Catalogue
from .chat import servicer as chat
from .chat.servicer import ChatServicer
from .chat.store import ChatStore
from .counting import Census
from .doors.handling import Doors
from .doors.keeping import Keeping
from .doors.pins import Hasher
from .doors.store import DoorStore
from .freshness import Freshness
from .histories import Histories
from .ledger import servicer as wallets
from .ledger.checking import Books
from .ledger.servicer import WalletServicer
from .ledger.store import LedgerStore
from .loading import Loader
from .log import Log
from .opening import Opener
from .outages import Outages
from .publishing import Publisher
from .reading import Reader
from .results.reading import ResultReader
from .results.store import ResultStore
from .servicer import TableServicer
from .snapshots import Snapshots
from .store import Store
from .tables import Tables

if TYPE_CHECKING:
    from omnipoly.runtime.app import App
    from omnipoly.runtime.database import Database

    from .config import TableSettings

log = logging.get(__name__)


class TableService(Service):
    """Every game, and the only truth about it."""

    migrations: ClassVar[str] = "omnipolyd.table.migrations"
    uses_bus: ClassVar[bool] = True
    full_collections: ClassVar[int] = 1000  # each state is lists of its own, 10,000 tables 300,000: walked for nothing
    callers: ClassVar[tuple[str, ...]] = ("gateway", "auction", "trade", "clock", "presence")

    def __init__(self, settings: TableSettings) -> None:
        super().__init__(settings)
        self.settings: TableSettings = settings
        self.tables: Tables | None = None

    async def start(self, app: App) -> None:
        settings, database = self.settings, app.database
        store = Store(database)
        publisher = Publisher(app.bus)
        outages = Outages(store)
        freshness = Freshness(store)
        writer = Log(database, store, batch=settings.batch)
        catalogue = Catalogue(store, settings.editions)
        database.on_epoch_change(lambda old, new: outages.forget())
        try:
            # an outage that ended with this start is written down before anything is decided
            await outages.beat()
        except FAULTS as error:
            raise StartError(f"the database does not take a heartbeat: {error}") from error
        self.tables = Tables(
            store,
            writer,
            Loader(store, catalogue, outages, database),
            freshness,
            outages,
            publisher,
            Snapshots(store, every=settings.snapshot_every),
            database,
            cached=settings.cached_tables,
            evict_after_s=settings.evict_after_s,
        )
        database.on_epoch_change(self.tables.epoch_changed)
        histories = Histories(store, database)
        database.on_epoch_change(lambda old, new: histories.changed())
        opener = Opener(store, publisher, database, most_open=settings.open_tables)
        app.tasks.spawn("log", writer.run)
        app.tasks.spawn("freshness", freshness.run)
        app.tasks.spawn("heartbeat", outages.run)
        app.tasks.spawn("histories", histories.run)
        app.tasks.spawn("census", Census(database).run)
        app.tasks.spawn("evict", self.tables.evict)
        doors = _doors(self.tables, database, publisher)
        reader, results = Reader(store), ResultReader(ResultStore(database))
        servicer = TableServicer(self.tables, catalogue, opener, reader, results, doors, dev=settings.dev)
        chat_lines = ChatServicer(ChatStore(database), doors, publisher, per_second=settings.chat_lines_per_second)
        persons = AccountServicer(AccountStore(database), app.bus, admins=settings.admin_persons)
        app.tasks.spawn("sweep-accounts", persons.sweep)
        ledger = LedgerStore(database)
        app.tasks.spawn("books", Books(ledger, every_s=settings.ledger_check_s).run)
        operators = AdminServicer(
            self.tables, reader, AdminStore(database), Audit(database), ledger, persons, replica=app.instance
        )
        beside = {
            accounts.SERVICE: persons.methods(),
            admin.SERVICE: operators.methods(),
            chat.SERVICE: chat_lines.methods(),
            wallets.SERVICE: WalletServicer(ledger).methods(),
        }
        links = servicer.methods()
        app.serve_generic(servicer.handler(), TableServicer.SERVICE)
        for name, methods in beside.items():
            links.update(unary.links(name, methods))
            app.serve_generic(unary.handler(name, methods), name)
        app.serve_link(links)

    async def drain(self) -> None:
        """Let every command that came be answered."""
        if self.tables is not None:
            await self.tables.drained()

    async def stop(self) -> None:
        """End what the drain was too short for."""
        if self.tables is not None:
            await self.tables.close()


def _doors(tables: Tables, database: Database, publisher: Publisher) -> Doors:
    store, hasher = DoorStore(database), Hasher()
    return Doors(tables, store, Keeping(tables, store, hasher), hasher, publisher)
