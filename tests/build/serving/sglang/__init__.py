"""A stand-in for SGLang: what its loader calls, in the same order, and no more."""
