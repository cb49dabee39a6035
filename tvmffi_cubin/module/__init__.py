"""A built shared object as Python objects: modules, functions, streams, occupancy.

Takes the path of a shared object; gives a `Module` and its `Function`s, subclasses of tvm-ffi's.
Never compiles anything, nor imports what does.
"""

from .function import Function
from .module import Module, load_module

__all__ = ["Function", "Module", "load_module"]
