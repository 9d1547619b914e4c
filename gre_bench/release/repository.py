"""Makes the Git repository of a board: a release, a folder for submissions, and the workflows that check them.

Only the release and two lines of text are specific to one edition.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from gre_bench.core.errors import SettingsError
from gre_bench.core.resources import locate_resource
from gre_bench.release import manifest
from gre_bench.release.release_store import ReleaseStore
from gre_bench.release.site import TEXTS

RELEASE, SUBMISSIONS, WORKFLOWS = "release", "submissions", ".github/workflows"


def write_repository(release: Path, target: Path) -> list[Path]:
    """Writes to *target* the repository for the board of *release*, a release's folder; returns the paths written.

    The repository contains the release under its own name, and the log of the edition's releases.

    If *target* already is such a repository, the release, the workflows, ``requirements.txt`` and ``.gitattributes``
    are replaced. READMEs, licence and submissions are kept. Raises `SettingsError` if *target* contains anything else,
    such as the board of another edition or a newer release. Raises it too for a release with texts that may not be
    redistributed.
    """
    about = manifest.verify_release(release)
    if about["texts"] == TEXTS[True]:
        raise SettingsError(f"{about['release']} has texts that may not be passed on; publish without --all-texts")
    is_board = any(map(manifest.is_release, (target / RELEASE).glob("*")))
    if target.exists() and not is_board and (not target.is_dir() or any(target.iterdir())):
        raise SettingsError(f"{target} is neither empty nor the repository of a board; name a new folder")
    for held in filter(manifest.is_release, (target / RELEASE).glob("*")):
        edition, number = held.name.rpartition("-r")[::2]
        if edition != about["edition"]:
            raise SettingsError(f"{target} is the repository of the board {edition}; name a new folder")
        if number.isdigit() and int(number) > int(about["release"].rpartition("-r")[2]):
            raise SettingsError(f"{target} has {held.name}, which is newer than {about['release']}; name a new folder")
    templates = locate_resource("deployments", "github")
    version = f"gre-bench=={about['program']['version']}\n"
    texts = {
        "README.md": (templates / "README.md").read_text(encoding="utf-8").replace("EDITION", about["edition"]),
        "LICENSE.md": (templates / "LICENSE.md").read_text(encoding="utf-8"),
        f"{SUBMISSIONS}/README.md": (templates / "submissions.md").read_text(encoding="utf-8"),
    }
    workflows = {f"{WORKFLOWS}/{path.name}": path.read_text(encoding="utf-8") for path in templates.glob("*.yml")}
    # Git must not convert line endings, because the release lists the digest of every file.
    made = {"requirements.txt": version, ".gitattributes": f"{RELEASE}/** -text\n", **workflows}
    made |= {name: text for name, text in texts.items() if not (target / name).exists()}
    for name, text in made.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_text(text, encoding="utf-8")
    with TemporaryDirectory(dir=target, prefix=".release-") as beside:
        shutil.copytree(release, Path(beside) / RELEASE / about["release"])
        log = ReleaseStore(release.resolve().parent, about["edition"]).log.path
        if log.is_file():
            shutil.copy(log, Path(beside) / RELEASE)
        shutil.rmtree(target / RELEASE, ignore_errors=True)
        (Path(beside) / RELEASE).rename(target / RELEASE)
    return [target / name for name in (RELEASE, *made)]
