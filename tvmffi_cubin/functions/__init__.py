"""Launches bound to kernels: the plan that a module's launcher reads, as assembly text.

Takes launches and what is known about kernels; returns the text of a module's tables. Never
compiles device code or looks at a GPU.
"""
