"""What the tests of the cache build, and under which key."""

from hashlib import sha256

from tvmffi_cubin.entry import Product
from tvmffi_cubin.finding import Miss
from tvmffi_cubin.sealed import read_sealed, write_sealed

BASE = "ab" * 32


def base(number: int) -> str:
    """Return one of many keys."""
    return sha256(b"%d" % number).hexdigest()


class Builder:
    """Makes a small product, and counts how often it is asked to."""

    def __init__(self, content=b"so", **product):
        self.content = content
        self.product = product
        self.runs = 0

    def __call__(self, directory):
        self.runs += 1
        (directory / "vec.so").write_bytes(self.content)
        (directory / "vec.cc").write_text("source")
        (directory / "vec.o").write_text("object")
        return Product(so="vec.so", keep=("vec.cc",), **self.product)


def deps_file(cache):
    return cache.root / "deps" / f"{BASE}.json"


def look_up(cache, base_key=BASE):
    """Return what is found, None where nothing is."""
    entry = cache.find(base_key)
    return None if isinstance(entry, Miss) else entry


def recorded(cache):
    """Return what the record of the build has, as JSON."""
    return read_sealed(str(deps_file(cache)), f"deps/{BASE}.json")


def record(cache, content):
    """Put another content in the record of the build, sealed as it should be."""
    write_sealed(str(deps_file(cache)), f"deps/{BASE}.json", content)
