"""The ledger's tables, made by named migrations. Each runs once, in one transaction, on SQLite or PostgreSQL."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, inspect, text

from unskew.errors import StoreError

LOCK = 0x756E736B6577  # "unskew": the advisory lock that everybody who migrates a PostgreSQL database takes


@dataclass(frozen=True)
class Migration:
    """A name that never changes, and the statements for each database."""

    name: str
    sqlite: tuple[str, ...]
    postgresql: tuple[str, ...]


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

MIGRATIONS = (
    Migration(
        "0001 campaigns and events",
        (_CAMPAIGNS, _EVENTS.format(key="INTEGER PRIMARY KEY AUTOINCREMENT"), _INDEX),
        (_CAMPAIGNS, _EVENTS.format(key="BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"), _INDEX),
    ),
    Migration(
        "0002 nothing is changed or deleted",
        tuple(
            f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: {verb} on {table} is refused'); END"
            for table in ("campaigns", "events")
            for verb in ("UPDATE", "DELETE")
        ),
        (
            "CREATE FUNCTION unskew_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
            "'the ledger is append-only: % on % is refused', TG_OP, TG_TABLE_NAME; END $$",
            *(
                f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
                "FOR EACH STATEMENT EXECUTE FUNCTION unskew_refuse()"
                for table in ("campaigns", "events")
            ),
        ),
    ),
)


def migrate(connection: Connection, at: Callable[[], str], migrations: Sequence[Migration] = MIGRATIONS) -> list[str]:
    """Run the migrations that have not run yet, in the transaction that `connection` is in, and return their names.

    A ledger that a later version has migrated further is refused: this version cannot know what its events mean.
    """
    dialect = connection.dialect.name
    if dialect == "postgresql":  # two servers started at once take turns
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
    if not inspect(connection).has_table("migrations"):
        connection.execute(text("CREATE TABLE migrations (name VARCHAR(80) PRIMARY KEY, at VARCHAR(32) NOT NULL)"))
    done = set(connection.execute(text("SELECT name FROM migrations")).scalars())
    for name in sorted(done - {m.name for m in migrations}):
        raise StoreError(f"the ledger has the migration {name!r}, which this version lacks. Install a newer unskew.")
    ran = []
    for migration in migrations:
        if migration.name not in done:
            for statement in migration.sqlite if dialect == "sqlite" else migration.postgresql:
                connection.execute(text(statement))
            insert = text("INSERT INTO migrations (name, at) VALUES (:name, :at)")
            connection.execute(insert, {"name": migration.name, "at": at()})
            ran.append(migration.name)
    return ran
