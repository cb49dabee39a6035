"""The path from the arguments of `load_inline` and its siblings to a module.

Takes users' arguments and composes the other rooms: `calls` has the public functions, `options`
checks their arguments, `request` holds them, `tools` finds what is installed and computes the cache
key, which `calls` looks up, and `build` builds on a miss. It never parses code or runs a compiler
itself.
"""
