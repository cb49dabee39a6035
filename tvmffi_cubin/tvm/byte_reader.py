"""`ByteReader`: TVM's binary forms from bytes; what does not fit is told with its offset."""

from __future__ import annotations

import struct

__all__ = ["ByteReader", "Misfit", "packed_text"]


class Misfit(ValueError):
    """Bytes are not what they should be; `offset` is where."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


class ByteReader:
    """Reads numbers and texts one after the other; no length that it reads makes it allocate."""

    def __init__(self, data: bytes, offset: int = 0) -> None:
        self.data = data
        self.offset = offset

    @property
    def left(self) -> int:
        """Bytes that are not read yet."""
        return len(self.data) - self.offset

    def fail(self, message: str, offset: int) -> Misfit:
        """Return the error for bytes at an offset."""
        return Misfit(f"{message}, at byte {offset}", offset)

    def take(self, size: int, what: str) -> bytes:
        """Return the next bytes; raises Misfit where there are too few."""
        if size > self.left:
            raise self.fail(
                f"{what} has {size} bytes, and {self.left} are left: it is cut off, or no such "
                "thing",
                self.offset,
            )
        start = self.offset
        self.offset += size
        return self.data[start : self.offset]

    def number(self, form: str, what: str) -> int:
        """Return a number in a form of `struct`."""
        size = struct.calcsize(form)
        return int(struct.unpack(form, self.take(size, what))[0])

    def count(self, what: str, least: int) -> int:
        """Return how many items follow, each of at least so many bytes."""
        start = self.offset
        count = self.number("<Q", f"the count of {what}")
        if count * least > self.left:
            raise self.fail(
                f"the count of {what} is {count}, for which {self.left} bytes are too few", start
            )
        return count

    def flag(self, what: str) -> bool:
        """Return a boolean, a byte."""
        value = self.number("<B", what)
        if value > 1:
            raise self.fail(f"{what} is {value}, neither 0 nor 1", self.offset - 1)
        return bool(value)

    def block(self, what: str) -> bytes:
        """Return bytes that come with their length."""
        return self.take(self.number("<Q", f"the length of {what}"), what)

    def text(self, what: str) -> str:
        """Return text that comes with its length."""
        start = self.offset
        try:
            return self.block(what).decode()
        except UnicodeDecodeError as error:
            raise self.fail(f"{what} is no UTF-8", start + 8 + error.start) from None

    def end(self) -> None:
        """Refuse what is left."""
        if self.left:
            raise self.fail(f"{self.left} bytes are too many", self.offset)


def packed_text(text: str | bytes) -> bytes:
    """Return text or bytes with their length."""
    data = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(data)) + data
