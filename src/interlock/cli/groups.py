"""A verb with things below it: its help tells each of them in a whole sentence, as the program's own help does."""

from __future__ import annotations

from typing import Final

import click

_WHOLE: Final = 1000
"""Characters of a first sentence; click would cut it to the line and leave the rest unsaid."""


class ThingGroup(click.Group):
    """A group of few commands, each told with the whole first sentence of its help."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(_WHOLE)) for name, each in found if each is not None])
