"""The commands of ``tvmffi-cubin``, one module each: `add_to` a parser, and what it runs."""
