"""Makes the pages, figures and views of the releases in this folder again, from their tables.

python data/releases/make_pages.py
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from gre_bench.release import manifest
from gre_bench.release.database import FOLDER, VIEWS_FILE, views_of
from gre_bench.release.publishing import write_pages
from gre_bench.release.release_store import ReleaseStore

HERE = Path(__file__).parent
SEALED = ("files", "signed_by")


def make(folder: Path) -> str:
    """Makes the release in *folder* again and returns its digest. Its tables, its date and its name stay."""
    about = {name: value for name, value in manifest.read(folder).items() if name not in SEALED}
    with tempfile.TemporaryDirectory() as beside:
        made = Path(beside) / folder.name
        made.mkdir()
        shutil.copytree(folder / FOLDER, made / FOLDER)
        (made / VIEWS_FILE).write_text(views_of(sorted(about["tables"])), encoding="utf-8")
        if problem := write_pages(made, made, about):
            raise SystemExit(problem)
        digest = manifest.seal(made, about, None)
        if digest == manifest.digest_of(folder):
            return f"{digest}, as it was"
        shutil.rmtree(folder)
        shutil.copytree(made, folder)
    store = ReleaseStore(folder.parent, about["edition"])
    store.log.path.unlink()
    store.log_event("published", folder.name, {"digest": digest})
    return digest


if __name__ == "__main__":
    for each in sorted(path for path in HERE.glob("*-r*") if manifest.is_release(path)):
        print(each.name, make(each))
