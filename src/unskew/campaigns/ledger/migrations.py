"""The ledger's tables, made by named migrations. Each runs once, in one transaction, on SQLite or PostgreSQL."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, inspect, text

from unskew.campaigns.ledger import chain
from unskew.errors import StoreError

LOCK = 0x756E736B6577  # "unskew": the advisory lock that everybody who migrates a PostgreSQL database takes


Step = str | Callable[[Connection], None]
"""A statement, or something to do between statements."""


@dataclass(frozen=True)
class Migration:
    """A name that never changes, and the steps for each database."""

    name: str
    sqlite: tuple[Step, ...]
    postgresql: tuple[Step, ...]


def _link_old_events(connection: Connection) -> None:
    """Number and chain the events that were written before events had a number and a hash."""
    campaigns = connection.execute(text("SELECT id, at, CAST(settings AS TEXT) FROM campaigns")).all()
    for campaign, at, settings in campaigns:
        last = chain.root(campaign, at, settings)
        found = "SELECT id, at, kind, actor, CAST(body AS TEXT) FROM events WHERE campaign = :campaign ORDER BY id"
        rows = []
        for event in connection.execute(text(found), {"campaign": campaign}):
            last = chain.after(last, *event)
            rows.append({"id": last.id, "number": last.number, "hash": last.hash})
        if rows:
            connection.execute(text("UPDATE events SET number = :number, hash = :hash WHERE id = :id"), rows)


_CAMPAIGNS = "CREATE TABLE campaigns (id VARCHAR(36) PRIMARY KEY, at VARCHAR(32) NOT NULL, settings JSON NOT NULL)"
_EVENTS = """CREATE TABLE events (
    id {key},
    campaign VARCHAR(36) NOT NULL REFERENCES campaigns (id),
    at VARCHAR(32) NOT NULL,
    kind VARCHAR(16) NOT NULL,
    actor TEXT NOT NULL,
    body JSON NOT NULL
)"""
_INDEX = "CREATE INDEX events_of_campaign ON events (campaign, id)"
_NUMBERED = (
    "ALTER TABLE events ADD COLUMN number BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE events ADD COLUMN hash VARCHAR(64) NOT NULL DEFAULT ''",
)
_REFUSE = (
    "CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
    "FOR EACH STATEMENT EXECUTE FUNCTION unskew_refuse()"
)


def _refuse_in_sqlite(verb: str, table: str) -> str:
    return (
        f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: {verb} on {table} is refused'); END"
    )


MIGRATIONS = (
    Migration(
        "0001 campaigns and events",
        (_CAMPAIGNS, _EVENTS.format(key="INTEGER PRIMARY KEY AUTOINCREMENT"), _INDEX),
        (_CAMPAIGNS, _EVENTS.format(key="BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"), _INDEX),
    ),
    Migration(
        "0002 nothing is changed or deleted",
        tuple(_refuse_in_sqlite(verb, table) for table in ("campaigns", "events") for verb in ("UPDATE", "DELETE")),
        (
            "CREATE FUNCTION unskew_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
            "'the ledger is append-only: % on % is refused', TG_OP, TG_TABLE_NAME; END $$",
            *(_REFUSE.format(table=table) for table in ("campaigns", "events")),
        ),
    ),
    Migration(
        "0003 events are chained",
        (
            *_NUMBERED,
            "DROP TRIGGER events_no_update",
            _link_old_events,
            _refuse_in_sqlite("UPDATE", "events"),
            # An earlier version that still has the ledger open writes no number. Its answers must not be acknowledged.
            "CREATE TRIGGER events_are_numbered BEFORE INSERT ON events WHEN NEW.number < 1 OR NEW.hash = '' "
            "BEGIN SELECT RAISE(ABORT, 'the ledger was migrated by a newer unskew: start this program again'); END",
            # Events are read in the order of the table itself: a second order of them could be damaged unnoticed.
            "DROP INDEX events_of_campaign",
        ),
        (
            *_NUMBERED,
            "DROP TRIGGER events_append_only ON events",
            _link_old_events,
            "ALTER TABLE events ADD CONSTRAINT events_are_numbered CHECK (number > 0 AND hash <> '')",
            _REFUSE.format(table="events"),
            "CREATE UNIQUE INDEX events_in_order ON events (campaign, number)",
        ),
    ),
)


def missing(connection: Connection, migrations: Sequence[Migration] = MIGRATIONS) -> list[Migration]:
    """The migrations that have not run yet.

    A ledger that a later version has migrated further is refused: this version cannot know what its events mean.
    """
    if not inspect(connection).has_table("migrations"):
        return list(migrations)
    done = set(connection.execute(text("SELECT name FROM migrations")).scalars())
    for name in sorted(map(str, done - {m.name for m in migrations})):
        raise StoreError(f"the ledger has the migration {name!r}, which this version lacks. Install a newer unskew.")
    return [migration for migration in migrations if migration.name not in done]


def migrate(connection: Connection, at: Callable[[], str], migrations: Sequence[Migration] = MIGRATIONS) -> list[str]:
    """Run the migrations that have not run yet, in the transaction that `connection` is in, and return their names."""
    dialect = connection.dialect.name
    if dialect == "postgresql":  # two servers started at once take turns
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
    if not inspect(connection).has_table("migrations"):
        connection.execute(text("CREATE TABLE migrations (name VARCHAR(80) PRIMARY KEY, at VARCHAR(32) NOT NULL)"))
    ran = []
    for migration in missing(connection, migrations):
        for step in migration.sqlite if dialect == "sqlite" else migration.postgresql:
            if callable(step):
                step(connection)
            else:
                connection.execute(text(step))
        insert = text("INSERT INTO migrations (name, at) VALUES (:name, :at)")
        connection.execute(insert, {"name": migration.name, "at": at()})
        ran.append(migration.name)
    return ran
