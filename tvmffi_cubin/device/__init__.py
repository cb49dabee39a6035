"""Device code: from CUDA sources to an image whose kernels have names and types.

Takes a request's device sources, its options and the images that were given; gives `Image`s.
Sources are compiled as units side by side and linked where there are several; a probe has the
compiler tell what kernels take. It exports nothing and never looks anything up in the cache.
"""
