"""Records of keys' fields: whole or not there, and what they say of a miss."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tvmffi_cubin import fields_record
from tvmffi_cubin.cache import Cache
from tvmffi_cubin.dependency_set import read_sets
from tvmffi_cubin.entry import Product
from tvmffi_cubin.field_key import FieldKey
from tvmffi_cubin.fields_record import FieldsRecord, of_same_name, of_same_purpose


def record(name: str = "m", **fields: object) -> FieldsRecord:
    key = FieldKey("module").add("name", name)
    for label, value in fields.items():
        key.add(label, value)
    return FieldsRecord.of(key, name)


def publish(cache: Cache, made: FieldsRecord, *, time: int = 0) -> None:
    def make(folder: Path) -> Product:
        (folder / "m.so").write_bytes(made.base_key.encode())
        (folder / fields_record.FILE).write_bytes(made.to_bytes())
        return Product(so="m.so", keep=(fields_record.FILE,))

    cache.obtain(made.base_key, make)
    for path in cache.root.glob(f"fields/*/{made.base_key}.json"):
        os.utime(path, (time, time))


def test_a_record_comes_back_as_it_was():
    made = record(flags=["-O2"], text="x" * 1000)
    assert FieldsRecord.read(made.to_bytes(), made.base_key) == made


def test_a_record_of_another_key_or_a_damaged_one_is_none():
    made = record(flags=["-O2"])
    with pytest.raises(ValueError, match="not what was sealed"):
        FieldsRecord.read(made.to_bytes(), record().base_key)
    with pytest.raises(ValueError, match="not what was sealed"):
        FieldsRecord.read(made.to_bytes().replace(b"-O2", b"-O3"), made.base_key)


def test_what_is_published_is_found_by_name_and_by_purpose(cache):
    made = record(flags="-O2", host_compiler="gcc 12")
    publish(cache, made)
    publish(cache, record("other", flags="-O2"))
    roots = [str(cache.root)]
    assert of_same_name(roots, "m") == [made]
    assert of_same_purpose(roots, record(flags="-O2", host_compiler="gcc 13").purpose) == [made]
    assert of_same_purpose(roots, record(flags="-O3", host_compiler="gcc 12").purpose) == []


def test_an_entry_that_came_from_elsewhere_is_found_too(cache, tmp_path):
    made = record(flags="-O2")
    publish(cache, made)
    entry = cache.find(made.base_key)
    other = Cache(tmp_path / "other")
    (known,) = read_sets(str(cache.root / "deps" / f"{made.base_key}.json"))
    with other.private_directory() as folder:
        for path in entry.path.iterdir():
            (folder / path.name).write_bytes(path.read_bytes())
        other.adopt(made.base_key, known, folder)
    assert of_same_name([str(other.root)], "m") == [made]


def test_the_newest_are_read_and_not_all(cache):
    for number in range(40):
        publish(cache, record(number=number), time=number)
    found = of_same_name([str(cache.root)], "m")
    assert len(found) == 8
    assert found[0] == record(number=39)


def test_damaged_files_and_missing_folders_are_passed_over(cache):
    made = record()
    publish(cache, made)
    folder = next(cache.root.glob("fields/*"))
    (folder / "x.json").write_bytes(b"{}")
    (folder / f"{'0' * 64}.json").write_bytes(made.to_bytes())
    assert of_same_name([str(cache.root), "/nowhere"], "m") == [made]


# What people are told


def test_the_nearest_is_compared():
    new = record(flags="-O3", text="a", arch="sm_90")
    far, near = (
        record(flags="-O1", text="b", arch="sm_80"),
        record(flags="-O2", text="a", arch="sm_90"),
    )
    assert new.explain([far, near]) == "compared with the nearest entry, flags is '-O3', was '-O2'"


def test_what_was_not_given_is_said():
    assert "flags is '-O3', was not given" in record(flags="-O3").explain([record()])
    assert "flags is not given, was '-O3'" in record().explain([record(flags="-O3")])


def test_what_looks_the_same_is_said_to_differ():
    one, two = (record(source=f"int f();\nint {x}();") for x in "gh")
    assert "source differs after '(17 characters) int f(); ...'" in one.explain([two])


def test_many_differences_are_counted_up():
    labels = "abcdef"
    one, two = (record(**dict.fromkeys(labels, value)) for value in (1, 2))
    text = one.explain([two])
    assert "a is '1', was '2'; b is '1', was '2'; c is '1', was '2'; d, e, f differ, too" in text


def test_nothing_under_the_name_is_said():
    assert record().explain([]) == "nothing was built under the name 'm'"


def test_fields_that_do_not_matter_are_left_out():
    one, two = record(flags="-O2", linker="1"), record(flags="-O3", linker="2")
    assert "linker" not in one.explain([two], without={"linker"})
    same = record(flags="-O2", linker="2")
    assert "is not there any more" in one.explain([same], without={"linker"})
