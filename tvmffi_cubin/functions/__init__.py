"""Launches bound to kernels: the plan that a module's launcher reads, as assembly text.

Takes launches and what is known of kernels; gives the text of a module's tables. Never compiles
device code, never looks at a GPU.
"""
