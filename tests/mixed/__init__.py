"""Mixed sources, kernels and host functions in one text, with what is to come out of them."""
