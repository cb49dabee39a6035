"""What the tests of the cache build, and under which key."""

from hashlib import sha256

from tvmffi_cubin.cache.entry import Product
from tvmffi_cubin.cache.files import read_rows

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


def record_file(cache, base_key=BASE):
    return f"{cache.root}/records/{base_key}.json"


def look_up(cache, base_key=BASE):
    """Return what is found, None where nothing is."""
    entry = cache.find(base_key)
    return None if isinstance(entry, str) else entry


def recorded(cache):
    """Return the rows of the record of the build, each as it is in the file."""
    return read_rows(record_file(cache))
