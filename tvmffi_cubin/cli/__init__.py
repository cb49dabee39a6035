"""The commands of ``tvmffi-cubin``, a module each: `run`, and `add_arguments` where it takes some.

Takes words of a command line, gives printed lines and an exit status. Holds no logic of its own. Of
these modules only the one that runs is imported, so that each works where the others cannot.
"""
