"""The commands of ``tvmffi-cubin``, a module each: `run`, and `add_arguments` if it takes any.

Takes the words of a command line; prints lines and returns an exit status. Holds no logic of its
own. Only the module of the command that runs is imported, so each works where others cannot.
"""
