"""What the tests of the cache build, and under which key."""

from tvmffi_cubin.cache import Product

BASE = "ab" * 32


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
