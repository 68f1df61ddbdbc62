"""Statements of one shape, compiled once: Django writes the SQL the first time, later calls only fill in the values.

Building, resolving and compiling a query takes Django several times as long as PostgreSQL takes to answer it, and
without a prepared statement PostgreSQL parses and plans it anew each time. What every page and every call of the API
asks, what lists show, and what every submission writes, goes through here; all else stays ordinary Django.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from functools import cache
from typing import Any, Generic, TypeVar, cast
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.backends.postgresql.base import ServerBindingCursor
from django.db.backends.utils import CursorWrapper
from django.db.models import Field, Model, QuerySet
from django.db.models.query import get_related_populators

M = TypeVar("M", bound=Model)
Row = Sequence[Any]


class _Prepared(ServerBindingCursor):
    """Values travel beside the statement, which the server keeps (settings: BANCADA_DB_PREPARE)."""

    def execute(self, query: Any, params: Any = None, **more: Any) -> Any:
        execute: Any = super().execute  # type: ignore[misc]
        return execute(query, params, **{"prepare": True, **more})


def cursor() -> CursorWrapper:
    """Like Django's own, for statements whose text is always the same. Where they are logged, they are to be read."""
    if connection.queries_logged:
        return connection.cursor()
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    with connection.wrap_database_errors:
        raw: Any = cast(Any, _Prepared)(connection.connection)
    return connection.make_cursor(raw)


class Fixed(Generic[M]):
    """A queryset of one shape. `build` makes it from values by name; it is called once, with marks in their places.

    So what it does may depend on no value: a filter on another field is another shape. No value may be None.
    `kept=False`: PostgreSQL plans it for the values of each time, where the best way depends on them (the newest jobs
    of a person who has most of them, or none).
    """

    def __init__(self, build: Callable[..., QuerySet[M]], *, kept: bool = True) -> None:
        self._build, self._kept = build, kept
        self._shape: _Shape | None = None

    def all(self, **values: Any) -> list[M]:
        """The rows for these values."""
        if self._shape is None:
            self._shape = _compile(self._build, values, self._kept)
        return cast(list[M], self._shape.rows(values))

    def first(self, **values: Any) -> M | None:
        """The first of them."""
        return next(iter(self.all(**values)), None)


class FixedValues:
    """The same for a queryset of plain values (`values_list`), planned for the values of each time."""

    def __init__(self, build: Callable[..., QuerySet[Any, Any]]) -> None:
        self._build = build
        self._statement: tuple[str, tuple[Any, ...]] | None = None

    def all(self, **values: Any) -> list[Row]:
        """The rows for these values, as PostgreSQL has them."""
        if self._statement is None:
            self._statement = _written(self._build, values)[1:]
        sql, params = self._statement
        with connection.cursor() as asking:
            asking.execute(sql, _filled(params, values))
            return asking.fetchall()


@dataclasses.dataclass(frozen=True, slots=True)
class _Slot:
    """A value's place among the parameters, and what the driver wants it to be (its integers tell their size)."""

    name: str
    kind: type | None

    def fill(self, values: dict[str, Any]) -> Any:
        value = values[self.name]
        return value if self.kind is None else self.kind(value)


@dataclasses.dataclass(frozen=True, slots=True)
class _Shape:
    """The statement, and how its rows become objects."""

    sql: str
    params: tuple[Any, ...]
    model: type[Model]
    names: list[str]
    columns: slice
    converters: dict[int, Any]
    related: list[Any]
    annotations: dict[str, int]
    kept: bool

    def rows(self, values: dict[str, Any]) -> list[Model]:
        with cursor() if self.kept else connection.cursor() as asking:
            asking.execute(self.sql, _filled(self.params, values))
            return [self._object(row) for row in asking.fetchall()]

    def _object(self, row: Row) -> Model:
        told = list(row)
        for place, (converters, expression) in self.converters.items():
            for convert in converters:
                told[place] = convert(told[place], expression, connection)
        made = self.model.from_db(DEFAULT_DB_ALIAS, self.names, told[self.columns])
        for populator in self.related:
            populator.populate(told, made)
        for name, place in self.annotations.items():
            setattr(made, name, told[place])
        return made


def _filled(params: tuple[Any, ...], values: dict[str, Any]) -> list[Any]:
    return [part.fill(values) if isinstance(part, _Slot) else part for part in params]


def _written(build: Callable[..., QuerySet[Any, Any]], values: dict[str, Any]) -> tuple[Any, str, tuple[Any, ...]]:
    """(Django's compiler, the statement, its parameters with the places of the values among them)."""
    marks = {_mark(value, number): name for number, (name, value) in enumerate(values.items())}
    compiler = build(**{name: mark for mark, name in marks.items()}).query.get_compiler(DEFAULT_DB_ALIAS)
    sql, params = compiler.as_sql()
    slots = tuple(_slot(param, marks) for param in params)
    lost = set(values) - {slot.name for slot in slots if isinstance(slot, _Slot)}
    if lost:
        raise ValueError(f"not in the statement: {', '.join(sorted(lost))}")
    return compiler, sql, slots


def _compile(build: Callable[..., QuerySet[Any]], values: dict[str, Any], kept: bool) -> _Shape:
    compiler, sql, slots = _written(build, values)
    columns = compiler.klass_info["select_fields"]
    first, last = columns[0], columns[-1] + 1
    return _Shape(
        sql, slots, compiler.klass_info["model"],
        [part[0].target.attname for part in compiler.select[first:last]], slice(first, last),
        compiler.get_converters([part[0] for part in compiler.select]),
        cast(Any, get_related_populators)(compiler.klass_info, compiler.select, DEFAULT_DB_ALIAS),
        compiler.annotation_col_map or {}, kept,
    )  # fmt: skip


def _mark(value: Any, number: int) -> Any:
    """A value of the same type that no statement holds by itself."""
    match value:
        case bool():
            raise TypeError("a truth value is part of the shape")
        case int():
            return 2_000_000_011 + number
        case str():
            return f"\x02{number}\x03"
        case UUID():
            return UUID(int=number + 1)
        case datetime():
            return datetime(9000 + number, 1, 1, tzinfo=UTC)
        case date():
            return date(9000 + number, 1, 1)
    raise TypeError(f"no mark for {type(value).__name__}")


def _slot(param: Any, marks: dict[Any, str]) -> Any:
    """The place of a value, where the parameter is its mark."""
    try:
        name = marks.get(param)
    except TypeError:  # a list, a JSON value: none of ours
        return param
    if name is None:
        if isinstance(param, datetime):
            raise ValueError("a moment is a value: it would stay what it was the first time")
        return param
    return _Slot(name, type(param) if isinstance(param, int) else None)


def insert(row: Model) -> None:
    """Like `row.save(force_insert=True)`, without signals; for models without parents."""
    sql, fields, key = _insertion(type(row))
    values = [field.get_db_prep_save(field.pre_save(row, True), connection) for field in fields]
    with cursor() as writing:
        writing.execute(sql, values)
        if key:
            setattr(row, key, writing.fetchone()[0])
    row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS


def insert_all(rows: Sequence[Model]) -> None:
    """Like `bulk_create`, for rows of one model; keys that the database makes are not asked for."""
    if not rows:
        return
    sql, fields, key = _insertion(type(rows[0]))
    values = [[field.get_db_prep_save(field.pre_save(row, True), connection) for field in fields] for row in rows]
    with cursor() as writing:
        writing.executemany(sql.rpartition(" RETURNING ")[0] if key else sql, values)
    for row in rows:
        row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS


def update_all(rows: Sequence[Model], names: Sequence[str]) -> None:
    """Like `row.save(update_fields=names)` for each row of one model, without signals; in one round trip."""
    if not rows:
        return
    sql, fields = _change(type(rows[0]), tuple(names))
    with cursor() as writing:
        writing.executemany(sql, [[*_values(row, fields), row.pk] for row in rows])


def _values(row: Model, fields: Sequence[Field[Any, Any]]) -> list[Any]:
    return [field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields]


@cache
def _change(model: type[Model], names: tuple[str, ...]) -> tuple[str, list[Field[Any, Any]]]:
    """(the statement, the fields it takes values of before the key's)."""
    meta = model._meta
    fields: list[Field[Any, Any]] = [cast(Any, meta.get_field(name)) for name in names]
    settings = ", ".join(f'"{field.column}" = {_place(field)}' for field in fields)
    return f'UPDATE "{meta.db_table}" SET {settings} WHERE "{meta.pk.column}" = %s', fields  # noqa: S608 - our own model


@cache
def _insertion(model: type[Model]) -> tuple[str, list[Field[Any, Any]], str]:
    """(the statement, the fields it takes values of, the name of the key that the database makes)."""
    meta = model._meta
    made = meta.pk if meta.pk.db_returning else None
    fields = [field for field in meta.concrete_fields if field is not made]
    places = ", ".join(_place(field) for field in fields)
    names = ", ".join(f'"{field.column}"' for field in fields)
    sql = f'INSERT INTO "{meta.db_table}" ({names}) VALUES ({places})'  # noqa: S608 - names of our own model
    return (f'{sql} RETURNING "{made.column}"', fields, made.attname) if made else (sql, fields, "")


def _place(field: Field[Any, Any]) -> str:
    ask = getattr(field, "get_placeholder", None)
    return str(ask(None, None, connection)) if ask else "%s"
