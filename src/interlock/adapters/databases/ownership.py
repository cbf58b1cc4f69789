"""Who owns what is inside a copy of a PostgreSQL database: all of it goes to one plain role; whole databases are elsewhere."""

from __future__ import annotations

from typing import Final

from psycopg import sql

from interlock.adapters.databases.server import Connection, rows, run

_FIRST: Final = 16_384  # smaller object numbers are PostgreSQL's own

# Every kind of object that has an owner: catalog, its owner column.
_KINDS: Final = (
    ("pg_namespace", "nspowner"),
    ("pg_class", "relowner"),
    ("pg_proc", "proowner"),
    ("pg_type", "typowner"),
    ("pg_collation", "collowner"),
    ("pg_conversion", "conowner"),
    ("pg_operator", "oprowner"),
    ("pg_opclass", "opcowner"),
    ("pg_opfamily", "opfowner"),
    ("pg_ts_dict", "dictowner"),
    ("pg_ts_config", "cfgowner"),
    ("pg_statistic_ext", "stxowner"),
    ("pg_largeobject_metadata", "lomowner"),
    ("pg_publication", "pubowner"),
    ("pg_foreign_server", "srvowner"),
)
# Parts of others follow these: indexes, row types, sequences of columns, members of extensions.
_OBJECTS: Final = """
select i.type, i.identity from {catalog} o, pg_identify_object({catalog_name}::regclass, o.oid, 0) i
where o.oid >= %s and o.{owner} <> %s::regrole
and not exists (select 1 from pg_depend p where p.classid = {catalog_name}::regclass and p.objid = o.oid and p.objsubid = 0
                and (p.deptype in ('e', 'i') or (p.deptype = 'a' and {sequence})))
and i.type in ('schema', 'table', 'view', 'materialized view', 'sequence', 'foreign table', 'function', 'procedure',
               'aggregate', 'type', 'collation', 'conversion', 'operator', 'operator class', 'operator family',
               'text search dictionary', 'text search configuration', 'statistics object', 'large object',
               'publication', 'server')
"""
_DEFAULTS: Final = """
select distinct coalesce(n.nspname, ''), a.defaclobjtype::text, a.defaclnamespace = 0 from pg_default_acl a
left join pg_namespace n on n.oid = a.defaclnamespace where a.defaclrole <> (select oid from pg_roles where rolname = %s)
"""
_DEFAULT_GRANTS: Final = """
select distinct e.privilege_type, coalesce(r.rolname, ''), e.is_grantable from pg_default_acl a
cross join aclexplode(a.defaclacl) e left join pg_namespace n on n.oid = a.defaclnamespace
left join pg_roles r on r.oid = e.grantee
where a.defaclrole <> (select oid from pg_roles where rolname = %s) and e.grantee <> a.defaclrole
and coalesce(n.nspname, '') = %s and a.defaclobjtype::text = %s
"""


def reassign(connection: Connection, old: str, new: str) -> None:
    """Give what one role owns in the connection's database to another.

    The old role must own no database: PostgreSQL would hand that on as well.
    """
    _defaults(connection, new)
    run(connection, "REASSIGN OWNED BY {} TO {}", old, new)
    run(connection, "DROP OWNED BY {}", old)  # owns nothing any more: what goes are its default privileges
    _public(connection, new)


def take_all(connection: Connection, role: str) -> None:
    """Give everything in the connection's database to a role, whoever owned it; what extensions brought stays theirs."""
    for catalog, owner in _KINDS:
        query = sql.SQL(_OBJECTS).format(
            catalog=sql.Identifier(catalog),
            catalog_name=sql.Literal(catalog),
            owner=sql.Identifier(owner),
            sequence=sql.SQL("o.relkind = 'S'" if catalog == "pg_class" else "false"),
        )
        for kind, identity in connection.execute(query, (_FIRST, f'"{role}"')).fetchall():
            # Both are as the server wrote them, quoted for a statement.
            words = {"statistics object": "STATISTICS"}.get(kind, kind.upper())
            statement = sql.SQL(f"ALTER {words} {identity} OWNER TO {{}}").format(sql.Identifier(role))
            connection.execute(statement)
    _defaults(connection, role)
    _public(connection, role)


def _defaults(connection: Connection, role: str) -> None:
    """What former owners granted on objects to come (ALTER DEFAULT PRIVILEGES): the new owner's get the same."""
    for schema, kind, cleared in rows(connection, _DEFAULTS, role):
        where = " IN SCHEMA {}" if schema else ""
        begin, given = f"ALTER DEFAULT PRIVILEGES FOR ROLE {{}}{where} ", (role, schema) if schema else (role,)
        objects = {
            "r": "TABLES",
            "S": "SEQUENCES",
            "f": "FUNCTIONS",
            "T": "TYPES",
            "n": "SCHEMAS",
            "L": "LARGE OBJECTS",
        }[kind]
        if cleared:
            run(connection, f"{begin}REVOKE ALL ON {objects} FROM PUBLIC", *given)
        for privilege, grantee, passing in rows(connection, _DEFAULT_GRANTS, role, schema, kind):
            who, more = ("{}", (grantee,)) if grantee else ("PUBLIC", ())
            tail = " WITH GRANT OPTION" if passing else ""
            run(connection, f"{begin}GRANT {privilege} ON {objects} TO {who}{tail}", *given, *more)


def _public(connection: Connection, role: str) -> None:
    """The schema public: before PostgreSQL 15 it belongs to the server's first role and not to the database's owner."""
    found = rows(
        connection,
        "select 1 from pg_namespace where nspname = 'public' and pg_get_userbyid(nspowner) not in ('pg_database_owner', %s)",
        role,
    )
    if found:
        run(connection, "ALTER SCHEMA public OWNER TO {}", role)
