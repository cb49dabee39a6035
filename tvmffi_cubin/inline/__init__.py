"""From the arguments of `load_inline` and its siblings to a module: the way through the rooms."""
