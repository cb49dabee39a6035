"""Launches as other tools write them down: JSON descriptions, and TVM's tables.

Takes a description or a table with its images, from files, text or bytes; gives launches and the
arguments of `load_inline`, and the description of a module. Never decides how anything is built.
"""
