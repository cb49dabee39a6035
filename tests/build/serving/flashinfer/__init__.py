"""A stand-in for FlashInfer: what its core calls, in the same order, and no more."""
