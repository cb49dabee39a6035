"""From the arguments of `load_inline` and its siblings to a module.

Takes what users give, and composes the other rooms: `calls` are the public functions, `options`
checks their arguments, `request` is what they ask for, `tools` what is installed and the key of
both, which `calls` looks up; `build` makes what is not there. It never parses code or runs a
compiler itself.
"""
