"""The driver stand-in for tests: a CUDA driver that runs nothing and records everything."""
