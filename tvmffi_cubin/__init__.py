"""tvmffi_cubin."""
