"""The cache: what was built, found again by its key and by the files that its build read.

Takes keys and finished build folders, gives published ones. Never builds anything itself. A look-up
imports `store` and what that needs; the rest is imported where it is used.

Layout of a cache folder::

    records/<base key>.json     which files builds of this key read → entry keys; also by the key
                                without the tools, for machines that lack them
    entries/<2 hex>/<key>/      what was published: the .so, manifest.json, images, sources
    history/<name>.json         the key fields of what was built last under a module's name
    identity/<hash>.json        what compilers and libraries said about themselves
    locks/<base key>.lock       held while a key is built
    looked                      when somebody last looked whether there is too much
    tmp/<random>/               where a build runs, or failed within the last day

The base key covers all but the contents of the files that a build finds by itself (headers), which
are known only afterwards; together with it they make the entry key.
"""
