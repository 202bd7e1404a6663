"""Tables of a dataset as Iceberg tables, through pyiceberg 0.12 or later.

>>> catalog = pyiceberg.catalog.load_catalog("lab")
>>> tcpexp.iceberg.write(dataset, catalog, "campaign7")
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pyarrow
from pyiceberg.exceptions import NoSuchTableError

from tcpexp import Dataset
from tcpexp._options import StorageOptions
from tcpexp._plain import PlainTable, read_manifest

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

__all__ = ["write"]

IDENTITY = "tcpexp.manifest-sha256"
"""Property of a snapshot: the checksum of the manifest of the dataset whose rows it has."""


def write(
    dataset: Dataset,
    catalog: Catalog,
    namespace: str,
    *,
    storage_options: StorageOptions | None = None,
) -> list[str]:
    """Writes each table of a dataset to a table of the same name in a namespace of a catalog.

    A table that exists is replaced in one commit, so readers see the rows of one dataset. A table that
    has the rows already gets no commit. Returns the names of the tables that were written. Whole
    numbers are `long` and times are nanoseconds since 1970 as `long`: Iceberg has no unsigned numbers,
    and nanoseconds only from version 3 of its format. Memory does not grow with the number of rows.

    - `storage_options`: of the store with the dataset. The catalog has its own options.
    """
    identity = hashlib.sha256(read_manifest(dataset.path, storage_options)).hexdigest()
    catalog.create_namespace_if_not_exists(namespace)
    written = []
    for name, file in dataset.tables.items():
        rows = PlainTable(file, storage_options)
        table = _table(catalog, f"{namespace}.{name}", rows.columns)
        snapshot = table.current_snapshot()
        known = snapshot.summary if snapshot is not None else None
        if known is not None and known.additional_properties.get(IDENTITY) == identity:
            continue
        with table.transaction() as change:
            with change.update_schema() as columns:
                columns.union_by_name(rows.columns)
            reader = pyarrow.RecordBatchReader.from_batches(rows.columns, rows.batches())
            change.overwrite(reader, snapshot_properties={IDENTITY: identity})
        written.append(name)
    return written


def _table(catalog: Catalog, name: str, columns: pyarrow.Schema) -> Table:
    try:
        return catalog.load_table(name)
    except NoSuchTableError:
        return catalog.create_table(name, schema=columns)
