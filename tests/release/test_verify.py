"""``gre-bench verify``: nothing of a release can change, go or come without being named."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil

import pytest

from gre_bench.core.errors import SourceError
from gre_bench.release import manifest
from tests.release.made_up import EDITION

PLACES = 4
"""Seeded places of each file at which a byte is changed, beside its first and its last."""


@pytest.fixture
def folder(state, tmp_path):
    """A release that a test may change."""
    shutil.copytree(state / "releases" / f"{EDITION}-r1", tmp_path / "release")
    for path in (tmp_path / "release").rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return tmp_path / "release"


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def refused(folder) -> str:
    with pytest.raises(SourceError) as caught:
        manifest.verify_release(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{folder}")


def test_a_changed_byte_is_found_wherever_it_is_and_the_file_is_named(folder):
    chosen = random.Random(20261121)
    assert len(files_of(folder)) > 40
    for file in files_of(folder):
        size, name = file.stat().st_size, file.relative_to(folder).as_posix()
        named = manifest.NAME if name == manifest.SUMS else name
        with file.open("r+b") as bytes_of:
            for place in sorted({0, size - 1, *(chosen.randrange(size) for _ in range(PLACES))}):
                bytes_of.seek(place)
                was = bytes_of.read(1)
                bytes_of.seek(place)
                bytes_of.write(bytes([was[0] ^ 1 << chosen.randrange(8)]))
                bytes_of.flush()
                told = tuple(f": {one} is not as it was written" for one in (name, named))
                assert refused(folder).startswith(told), (name, place)
                bytes_of.seek(place)
                bytes_of.write(was)
    assert manifest.verify_release(folder)["release"] == f"{EDITION}-r1"


def test_a_file_that_is_cut_grown_gone_or_called_otherwise_is_named(folder):
    for file in files_of(folder):
        whole, name = file.read_bytes(), file.relative_to(folder).as_posix()
        for other in (b"", whole[:-1], whole[: len(whole) // 2], whole + b"\n"):
            file.write_bytes(other)
            assert refused(folder).startswith((f": {name} is not", f": {manifest.NAME} is not")), name
        file.write_bytes(whole)
        file.rename(file.with_name(f"{file.name}.old"))
        assert "is missing" in (told := refused(folder)) or "cannot be read" in told, name
        file.with_name(f"{file.name}.old").rename(file)
    assert manifest.verify_release(folder)["files"]


def test_two_files_that_change_places_are_found(folder):
    one, other = sorted((folder / "papers").iterdir())[:2]
    whole = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(whole)
    assert f"papers/{one.name} is not as it was written" in refused(folder)


@pytest.mark.parametrize(
    "name", ["more.txt", ".hidden", "papers/more.html", "tables/more.parquet", "new/more", "papers/empty/"]
)
def test_a_file_or_folder_that_came_is_named(folder, name):
    came = folder / name
    came.parent.mkdir(exist_ok=True)
    if name.endswith("/"):
        came.mkdir()
    else:
        came.touch()
    shown = "new" if name == "new/more" else name.rstrip("/")
    assert refused(folder) == f": {shown} is not part of the release; remove it"


@pytest.mark.parametrize("name", ["SHA256SUMS.minisig", "SHA256SUMS.asc", "SHA256SUMS.sig", "SHA256SUMS.sigstore.json"])
def test_a_signature_of_the_list_of_digests_may_lie_beside_it_and_is_not_checked(own, call, name):
    folder = own / "releases" / f"{EDITION}-r1"
    (folder / name).write_text("a signature")
    code, out, _ = call("verify", folder)
    assert code == 0 and f"signature not checked: {name}\n" in out + "\n"
    assert name in manifest.list_release_files(folder)
    (folder / name).unlink()
    (folder / name).symlink_to("/dev/zero")
    assert "is neither a file nor a folder" in call("verify", folder)[2]


def test_a_link_is_no_file_of_a_release_even_to_the_same_bytes(folder, tmp_path):
    for name, target in (("index.html", tmp_path / "index.html"), ("papers", tmp_path / "papers")):
        (folder / name).rename(target)
        (folder / name).symlink_to(target)
        assert f"{name} is neither a file nor a folder" in refused(folder)
        (folder / name).unlink()
        target.rename(folder / name)
    (folder / "more").symlink_to(tmp_path)
    assert "more is neither a file nor a folder" in refused(folder)
    (folder / "more").unlink()
    os.mkfifo(folder / "more")
    assert "more is neither a file nor a folder" in refused(folder)
    (folder / "more").unlink()
    (tmp_path / "latest").symlink_to(folder)
    assert manifest.verify_release(tmp_path / "latest")["release"] == f"{EDITION}-r1"


def sealed(folder, text: str) -> None:
    (folder / manifest.NAME).write_text(text)
    _, *others = (folder / manifest.SUMS).read_text().splitlines(keepends=True)
    own = f"{hashlib.sha256(text.encode()).hexdigest()}  {manifest.NAME}\n"
    (folder / manifest.SUMS).write_text("".join([own, *others]))


def test_a_manifest_that_was_edited_is_found_and_one_that_was_sealed_anew_too(own, call):
    folder = own / "releases" / f"{EDITION}-r1"
    for name in (manifest.NAME, manifest.SUMS):
        (folder / name).chmod(0o644)
    text = (folder / manifest.NAME).read_text()
    edited = text.replace('"edition": "ICLR-2025"', '"edition": "ICLR-2024"')
    assert edited != text
    (folder / manifest.NAME).write_text(edited)
    code, out, err = call("verify", folder)
    assert (code, out, err.count("\n")) == (2, "", 1) and "manifest.json is not as it was written" in err
    sealed(folder, edited)
    assert manifest.verify_release(folder)["edition"] == "ICLR-2024"
    code, out, err = call("verify", folder)
    assert (code, out, err.count("\n")) == (2, "", 1) and "not the release that was published under this name" in err


@pytest.mark.parametrize("text", ["{", "[]", "{}", json.dumps({"format": 99, "files": {}})])
def test_a_sealed_file_that_is_no_manifest_is_one_line(folder, text):
    sealed(folder, text)
    is_other = "has format 99, this program reads 1; update it"
    assert (is_other if "99" in text else "is no manifest of a release") in refused(folder)
