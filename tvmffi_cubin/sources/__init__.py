"""Sources: what a CUDA text contains, and which compiler each text is for.

Takes texts; gives their kernels with parameters, functions, definitions, launches and includes
(`facts.read`), a request's sources sorted (`sort.sort_sources`), and the two sides of a mixed
source. It compiles nothing, and leaves errors to the compilers, except where the sides disagree.
"""
