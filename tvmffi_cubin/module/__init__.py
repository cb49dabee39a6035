"""Python objects for a built shared object: modules, functions, streams, occupancy.

Takes the path of a shared object; returns a `Module` and its `Function`s, subclasses of tvm-ffi's.
Never compiles anything or imports code that does.
"""

from .function import Function
from .module import Module, load_module

__all__ = ["Function", "Module", "load_module"]
