"""Scenarios for the example extensions that pi's package ships."""


class Example:
    """An example extension and what is played with it.

    `terminal` says what of it a terminal would be needed for: then the scenario shows what is left without one.
    `limit` says why something else of it is not played.
    """

    def __init__(self, name, *scripts, terminal="", limit=""):
        self.name, self.scripts, self.terminal, self.limit = name, scripts, terminal, limit


def all_examples():
    """Returns all examples by name."""
    from . import commands, git, guards, interface, plans, prompts, providers, terminal, tools
    modules = [commands, git, guards, interface, plans, prompts, providers, terminal, tools]
    listed = sorted((example for module in modules for example in module.EXAMPLES), key=lambda example: example.name)
    return {example.name: example for example in listed}
