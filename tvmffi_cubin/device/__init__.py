"""Device code: from CUDA sources to an image whose kernels have names and types.

Takes a request's device sources, its options and the images that were given; returns `Image`s.
Sources are compiled as units in parallel and linked if there are several; a probe makes the
compiler spell out what kernels take. It exports nothing and never looks anything up in the cache.
"""
