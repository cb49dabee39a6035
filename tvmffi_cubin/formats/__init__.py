"""Launches as other tools write them: JSON descriptions and TVM's tables.

Takes a description or a table with its images, as files, text or bytes; returns launches and the
arguments for `load_inline`, and describes a module. Never decides how anything is built.
"""
