"""Sources: what a CUDA text contains, and which compiler each text is for.

Takes texts; gives their kernels with parameters, functions, definitions, launches and includes
(`facts.read`), a request's sources sorted (`sort.sort_sources`), and the two sides of a mixed
source. It compiles nothing and never refuses a text: what is wrong in one is the compiler's to say.
"""
