"""``omnipoly edition``: the games there are, what they decide, and files of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import connecting
from .commands import UserError

if TYPE_CHECKING:
    from omnipoly.editions.model import Edition

app = typer.Typer(help="The games there are, what they decide, and files of one's own.", no_args_is_help=True)

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="A shipped edition, globopoly/quick; or a file, my.toml/mode.")
]
Json = Annotated[bool, typer.Option("--json", help="As JSON, as Lobby.ListEditions and GetEdition give it.")]
Folder = Annotated[Path | None, typer.Option("--editions", metavar="DIR", help="Editions of one's own, too.")]


@app.command("list")
def list_editions(editions: Folder = None, json: Json = False, language: connecting.Language = "") -> None:
    """List what can be played: every edition in each of its modes."""
    from . import editions_shown
    from .showing import console

    names = _names(editions)
    if json:
        typer.echo(editions_shown.summaries_json([_edition(name) for name in names]))
    else:
        console().print(editions_shown.listed([_edition(name) for name in names], language))


@app.command()
def show(name: Name, json: Json = False, language: connecting.Language = "") -> None:
    """Show all of an edition: boards, prices, rents, cards, options, and what each of its choices means."""
    from omnipoly.wire import editions

    from . import editions_shown
    from .showing import console

    edition = _edition(name)
    if json:
        typer.echo(editions_shown.json_of(editions.to_proto(edition, language=language)))
    else:
        editions_shown.show(console(), edition, language)


@app.command()
def check(files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files of editions.")]) -> None:
    """Check files: every mistake with its place, and what to do about it. Exits with 1 when there is any."""
    from omnipoly.editions import loader
    from omnipoly.editions.problems import EditionError

    from .showing import console

    out, wrong = console(), False
    for file in files:
        try:
            modes = loader.modes(file)
        except EditionError as error:
            wrong = True
            for problem in error.problems:
                out.print(f"{file}: {problem}", markup=False)
            continue
        edition = loader.load(file)
        name = edition.id.partition("/")[0]
        playable = ", ".join(f"{name}/{mode}" if mode else name for mode in modes)
        out.print(f"{file}: right; {edition.title}, to be played as {playable}", markup=False)
    raise typer.Exit(1 if wrong else 0)


@app.command()
def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; there must be none.")],
    like: Annotated[str, typer.Option("--from", metavar="EDITION", help="The edition to begin with.")] = "tubbypoly",
    edition_id: Annotated[str, typer.Option("--id", help="Its id; none: the file's name.")] = "",
    title: Annotated[str, typer.Option("--title", help="The name shown; none: the id.")] = "",
) -> None:
    """Write a file that plays as an edition does, with every choice explained: what to begin an edition with."""
    from omnipoly.editions import loader, writing

    edition_id = edition_id or file.stem
    if not writing.is_id(edition_id):
        raise UserError(
            f"an edition cannot have the id {edition_id}: choose a letter, then letters, digits or _ (--id)"
        )
    if edition_id in {name.partition("/")[0] for name in loader.shipped()}:
        raise UserError(f"there is an edition {edition_id} already: choose another id (--id)")
    edition = _edition(like)
    source = loader.whole(edition.text) if "/" not in like.removesuffix(".toml") else writing.single(edition)
    text = writing.write(source, edition_id=edition_id, title=title or edition_id, name=file.name)
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise UserError(f"{file} is there already, and is left as it is") from None
    except OSError as error:
        raise UserError(f"{file}: {error.strerror or error}") from error
    typer.echo(f"{file}: written; omnipoly edition check {file} finds what is wrong with it later on")


@app.command()
def schema() -> None:
    """Print the JSON Schema of an edition's file, for editors that check while one writes."""
    import json

    from omnipoly.editions import loader

    typer.echo(json.dumps(loader.schema(), indent=2, ensure_ascii=False))


@app.command()
def reference() -> None:
    """Print what every key of a file means, and every choice between the variants of the rules, as Markdown."""
    from omnipoly.editions import page

    typer.echo(page.reference(), nl=False)


def _edition(name: str) -> Edition:
    """A shipped edition, or one of a file: ``my.toml``, ``folder/my.toml/mode``. Raises ``UserError``."""
    from omnipoly.editions import loader
    from omnipoly.editions.problems import EditionError

    file, dot, mode = name.partition(".toml")
    try:
        return loader.load(f"{file}.toml", mode.removeprefix("/")) if dot else loader.edition(name)
    except EditionError as error:
        raise UserError(str(error), exit_code=1) from error


def _names(folder: Path | None) -> list[str]:
    from omnipoly.editions import loader
    from omnipoly.editions.problems import EditionError

    names = list(loader.shipped())
    if folder is not None and not folder.is_dir():
        raise UserError(f"the folder {folder} is not there")
    try:
        for path in loader.folder(folder).values() if folder is not None else ():
            names += [f"{path}/{mode}" if mode else str(path) for mode in loader.modes(path)]
    except EditionError as error:
        raise UserError(str(error), exit_code=1) from error
    return names
