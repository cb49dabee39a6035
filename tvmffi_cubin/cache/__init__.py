"""The cache: finished builds, found again by their keys and by the files that they read.

Takes keys and finished build folders; returns published folders. Never builds anything itself. A
lookup imports `store` and its dependencies; everything else is imported on use.

Layout of a cache folder::

    records/<base key>.json     files that builds of this key read → entry keys; also stored under
                                the key without the tools, for machines that lack them
    entries/<2 hex>/<key>/      published builds: the .so, manifest.json, images, sources
    history/<hash>.json         key fields of the latest builds under a module's name
    identity/<hash>.json        what compilers and libraries report about themselves
    locks/<base key>.lock       held while a key is being built
    looked                      when the size limit was last checked
    tmp/<random>/               builds that are running, or failed within the last day

The base key covers everything except the contents of the files that a build discovers itself
(headers), which are known only afterwards. The entry key covers both.
"""
