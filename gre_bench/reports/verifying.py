"""Verifies a release.

The checks cover its files, its line in the release log, its signature, and its agreement with the edition's store.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SourceError
from gre_bench.release import manifest
from gre_bench.release.release_store import ReleaseStore
from gre_bench.release.signing import check_signer
from gre_bench.reports.agreeing import agree
from gre_bench.reports.publishing import release_store_of
from gre_bench.reports.remaking import make_again


def verify_release(
    folder: Path,
    state: Path | None = None,
    keys: Sequence[str] = (),
    seen_head: str | None = None,
    again: bool = False,
) -> dict[str, Any]:
    """Verifies the release in *folder* and returns facts about it; raises `SourceError`, which names what is wrong.

    - *state*: the folder with the edition's store, to compare the release's tables with; None leaves this out.
    - *keys*: public keys. One of them must have signed the release, its line in the release log, and every later line.
      Without keys, no signature is required.
    - *seen_head*: the hash of the last line of the release log at an earlier time. The log must still contain that
      line.
    - *again*: also make its numbers, pages and figures again (see `gre_bench.reports.remaking`).
    """
    about = manifest.verify(folder)
    check_signer(folder, about.get(manifest.SIGNED_BY), keys)
    release_store, name = release_store_of(str(folder.resolve()), folder.parent)
    if about["release"] != name:
        raise SourceError(f"{folder} holds the files of {about['release']}; get {name} again from where it came")
    digest = manifest.digest_of(folder)
    if seen_head:
        release_store.log.check_holds(seen_head)
    heads = release_store.log.heads()
    if len(heads) > 1:
        _check_logged(release_store, folder, name, digest)
        release_store.log.check_signed(name, keys)
    if state:
        agree(folder, about, state)
    later = [entry for entry in release_store.log.entries(name) if entry["what"] != "published"]
    published = [entry["release"] for entry in release_store.log.entries() if entry["what"] == "published"]
    return {"release": about["release"], "digest": digest, "files": len(about["files"]), "errata": later,
            "signed_by": about.get(manifest.SIGNED_BY), "known_key": bool(keys),
            "newer": published[published.index(name) + 1 :] if published else None, "log": release_store.log.path.name,
            "log_lines": len(heads) - 1, "log_head": heads[-1],
            "agrees_with_store": True if state else None, "created_at": about["created_at"],
            "texts": about["texts"], "made_again": make_again(folder, about) if again else None}  # fmt: skip


def _check_logged(release_store: ReleaseStore, folder: Path, name: str, digest: str) -> None:
    """Raises `SourceError` unless the log has this release with this *digest*.

    If *folder* is the link ``EDITION-latest``, the release must also be the newest in the log.
    """
    stated = [entry["digest"] for entry in release_store.log.entries(name) if entry["what"] == "published"]
    if not stated:
        raise SourceError(
            f"{folder}: {release_store.log.path} has no line that publishes it; publish the edition again"
        )
    if digest not in stated:
        raise SourceError(f"{folder}: not the release that was published under this name; see {release_store.log.path}")
    newest = release_store.newest()
    if folder.name == release_store.latest.name and newest and newest["release"] != name:
        raise SourceError(f"{folder} leads to {name}, and the latest release is {newest['release']}")
