"""The entry point: a static table of verbs in pipeline order, loaded when called; errors become sentences.

The only place that turns a WeighbridgeError into text on stderr and an exit code.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
from types import FrameType
from typing import Any, Final, NoReturn

import click

from weighbridge import __version__
from weighbridge.cli import language
from weighbridge.cli.language import text
from weighbridge.errors import EXIT_BAD_INPUT, EXIT_CANNOT_SAY, EXIT_OK, UnknownFormat, WeighbridgeError

# (verb, module that holds its click command ``command``). In the order people meet them.
VERBS: tuple[tuple[str, str], ...] = (
    ("init", "weighbridge.cli.init"),
    ("import", "weighbridge.cli.import_"),
    ("runs", "weighbridge.cli.runs"),
    ("diagnose", "weighbridge.cli.diagnose"),
    ("brief", "weighbridge.cli.brief"),
    ("estimate", "weighbridge.cli.estimate"),
    ("fit", "weighbridge.cli.fit"),
    ("machines", "weighbridge.cli.machines"),
    ("doctor", "weighbridge.cli.doctor"),
    ("demo", "weighbridge.cli.demo"),
)


# What a batch system, a closing terminal and a person at the keyboard send.
_ENDING_SIGNALS: Final = ("SIGTERM", "SIGHUP")


class Verbs(click.Group):
    """Lists verbs from the table without importing them, so that --help stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [verb for verb, _ in VERBS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = dict(VERBS).get(cmd_name)
        if module is None:
            return None
        command: click.Command = importlib.import_module(module).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(verb, text(f"cli.{verb}.short")) for verb, _ in VERBS]
        with formatter.section(text("cli.heading.commands")):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in dict(VERBS):
            raise click.UsageError(
                text("cli.no_such_verb", verb=args[0], verbs=", ".join(verb for verb, _ in VERBS))
            )
        return super().resolve_command(ctx, args)


def build() -> click.Group:
    """The command tree in the chosen language."""
    group = Verbs(
        name="weighbridge",
        help=text("cli.help"),
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        no_args_is_help=True,
    )
    click.version_option(__version__, prog_name="weighbridge", message="%(prog)s %(version)s")(group)
    group.params.append(
        click.Option(
            ["--lang"], type=click.Choice(["en", "zh"]), expose_value=False, help=text("cli.option.lang")
        )
    )
    return group


def main(arguments: list[str] | None = None) -> None:
    """Run a command line and leave with its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        code = _prepared_run(arguments)
    except KeyboardInterrupt:
        _say(text("cli.interrupted"))
        _leave_at_once(EXIT_CANNOT_SAY)
    sys.exit(code)


def _leave_at_once(code: int) -> NoReturn:
    """Leave with this code. Everything is cleared up by now.

    ``sys.exit`` is not enough: when the interrupt met code that Python compiles from text (dataclasses being
    made while a verb is imported), CPython remembers it and ends the process by SIGINT, caught or not.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def _prepared_run(arguments: list[str]) -> int:
    _end_in_order()
    for stream in (sys.stdout, sys.stderr):
        # A stream of another encoding (GBK, ASCII) gets "?" for what it cannot hold; a closed one is None.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    language.set_from(arguments)
    return run(arguments)


def _end_in_order() -> None:
    """SIGTERM and SIGHUP end a command as Ctrl-C does, so that no temporary folder stays behind."""
    for name in _ENDING_SIGNALS:
        number = getattr(signal, name, None)
        # nohup has told us to ignore the hang-up: leave it so.
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    # A second one must not break into the clearing up.
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def run(arguments: list[str]) -> int:
    """Run a command line; the exit code is returned (see ``errors``). Interrupts pass through."""
    try:
        result: Any = build().main(arguments, prog_name="weighbridge", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as leave:
        return int(leave.exit_code)
    except click.ClickException as error:
        error.show()
        return EXIT_BAD_INPUT
    except click.Abort as abort:
        # Click's word for an interrupt inside a verb; one before or after it arrives as it is.
        raise KeyboardInterrupt from abort
    except WeighbridgeError as error:
        _say(text("cli.error", sentence=text(error.code, **error.params)))
        if isinstance(error, UnknownFormat):
            _say(language.what_readers_look_for())
        return error.exit_code
    except SystemExit:
        # Click's answer to a reader of our output that left (| head), after silencing both streams. Its
        # code 1 would read as "the answer is no".
        return EXIT_OK
    except OSError as error:
        # Everything else that the system refuses is caught where it is known what was being done.
        place = error.filename if error.filename is not None else text("cli.standard_output")
        _say(text("cli.error", sentence=text("cli.refused", path=place, reason=error.strerror or str(error))))
        _drop_output()
        return EXIT_BAD_INPUT
    return result if isinstance(result, int) else EXIT_OK


def _say(sentence: str) -> None:
    # Nobody is left to be told when stderr is full or gone; the exit code still speaks.
    with contextlib.suppress(OSError):
        click.echo(sentence, err=True)


def _drop_output() -> None:
    """Send what stdout still holds nowhere: Python would complain about it again when it leaves."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
