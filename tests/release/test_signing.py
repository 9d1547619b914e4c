"""Signed releases: a bit changed, another key, an older release in a newer one's place: each is refused."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from hypothesis import given, settings
from hypothesis import strategies as st

from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.release import manifest
from gre_bench.release import release_store as release_log
from gre_bench.release.release_store import EMPTY, ReleaseLog, ReleaseStore
from gre_bench.release.signing import PASSPHRASE, SigningKey, is_signed, public_key, signing_key
from gre_bench.reports.publishing import publish_edition
from tests.release.made_up import EDITION, FREE, METRICS, make, release_store_of

RAW = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
PUBLIC = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
FIRST, SECOND = f"{EDITION}-r1", f"{EDITION}-r2"


def made_key(folder, name, key=None, passphrase=b""):
    """The files of a new key: private, public."""
    key = key or ed25519.Ed25519PrivateKey.generate()
    locked = serialization.BestAvailableEncryption(passphrase) if passphrase else serialization.NoEncryption()
    files = folder / f"{name}.key", folder / f"{name}.pub"
    files[0].write_bytes(key.private_bytes(*RAW, locked))
    files[0].chmod(0o600)
    files[1].write_bytes(key.public_key().public_bytes(*PUBLIC))
    return files


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    return {name: made_key(folder, name) for name in ("ours", "theirs")}


@pytest.fixture(scope="module")
def state(tmp_path_factory, keys):
    """Two signed releases of one board."""
    folder = tmp_path_factory.mktemp("signed")
    store = make(folder, EDITION, papers=4, candidates=3, titles=FREE, metrics=METRICS[:1])
    for _ in range(2):
        publish_edition(store, release_store_of(folder), again=True, key=signing_key(keys["ours"][0]))
    return folder


@pytest.fixture
def own(state, tmp_path):
    shutil.copytree(state, tmp_path / "own", symlinks=True)
    for path in (tmp_path / "own" / "releases").rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(0o644)
    return tmp_path / "own"


@pytest.fixture
def check(call, keys):
    """``gre-bench verify FOLDER --key OURS``: its code and its one line of error."""

    def checking(folder, *more):
        code, out, err = call("verify", folder, "--key", keys["ours"][1], *more)
        assert err.count("\n") == (code != 0) and bool(out) == (code == 0)
        return code, err

    return checking


def sealed_by(folder, key, **about):
    """The release in *folder* sealed anew, as *key* would do it."""
    old = json.loads((folder / manifest.NAME).read_text())
    del old["format"], old["files"]
    for name in (manifest.NAME, manifest.SEAL, manifest.SIGNATURE):
        (folder / name).unlink(missing_ok=True)
    manifest.seal(folder, old | about, key)


def logged_by(release_store, key):
    """The log written anew, each line signed by *key*, with the digests of what is there now."""
    entries = release_store.log.entries()
    release_store.log.path.unlink()
    for entry in entries:
        digest = manifest.digest_of(release_store.folder / entry["release"])
        release_store.log.add("published", entry["release"], {"digest": digest}, key)


def test_the_published_example_of_the_signature_scheme():
    name = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    signature = bytes.fromhex(
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595b"
        "be24655141438e7a100b"
    )
    assert is_signed(name, b"", signature)
    assert not is_signed(name, b"\0", signature) and not is_signed(name[:-2], b"", signature)
    assert not is_signed("no key", b"", signature) and not is_signed(None, b"", signature)


@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl")
def test_openssl_makes_the_keys_and_checks_a_release_without_this_program(own, tmp_path, call):
    def openssl(*arguments):
        return subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True).returncode

    private, public = tmp_path / "release.key", tmp_path / "release.pub"
    assert openssl("genpkey", "-algorithm", "ed25519", "-out", private) == 0
    private.chmod(0o600)
    assert openssl("pkey", "-in", private, "-pubout", "-out", public) == 0
    out = tmp_path / "there"
    code, told, _ = call("publish", EDITION, "--state", own, "--sign", private, "--out", out, "--json")
    assert code == 0 and json.loads(told)["signed_by"] == public_key(public)
    assert call("verify", out / FIRST, "--key", public)[0] == 0
    folder = out / FIRST
    given = ("-inkey", public, "-rawin", "-in", folder / manifest.SEAL, "-sigfile", folder / manifest.SIGNATURE)
    assert openssl("pkeyutl", "-verify", "-pubin", *given) == 0
    check = ["sha256sum", "--check", "--strict", manifest.SEAL]
    assert subprocess.run(check, cwd=folder, capture_output=True).returncode == 0


def test_verify_says_what_a_stranger_can_know_of_a_release(own, keys, call, tmp_path):
    first, name = own / "releases" / FIRST, public_key(keys["ours"][1])
    out = call("verify", first)[1]
    assert "whole, " in out and f"signed by {name}: --key FILE tells whether that is a key you know" in out
    assert f"newer: {SECOND}; its log: 2 lines" in out
    out = call("verify", own / "releases" / SECOND, "--key", keys["ours"][1])[1]
    assert f"signed by {name}: a key you know" in out and "nothing newer known; its log: 2 lines" in out
    out = call("verify", shutil.copytree(first, tmp_path / FIRST))[1]
    assert "no log beside it" in out and "newer known" not in out


def test_a_signed_release_says_by_which_key_and_the_private_key_is_nowhere_in_the_state(own, keys, check, call):
    assert check(own / "releases" / SECOND) == (0, "") == check(own / "releases" / f"{EDITION}-latest")
    code, out, _ = call("verify", own / "releases" / FIRST, "--json")
    found = json.loads(out)
    assert code == 0 and found["signed_by"] == public_key(keys["ours"][1]) and found["log_lines"] == 2
    secret = serialization.load_pem_private_key(keys["ours"][0].read_bytes(), None).private_bytes_raw()
    pem = keys["ours"][0].read_bytes().splitlines()[1]
    for path in own.rglob("*"):
        if path.is_file():
            whole = path.read_bytes()
            assert secret not in whole and pem not in whole and secret.hex().encode() not in whole, path


@pytest.mark.parametrize(
    "name", ["index.html", "tables/scores.parquet", manifest.NAME, manifest.SEAL, manifest.SIGNATURE]
)
def test_a_release_with_one_bit_changed_is_refused(own, check, call, name):
    file = own / "releases" / SECOND / name
    whole = bytearray(file.read_bytes())
    for place in (0, len(whole) // 2, len(whole) - 1):
        whole[place] ^= 1
        file.write_bytes(whole)
        code, err = check(own / "releases" / SECOND)
        assert code == 2 and ("is not as it was written" in err or "is not the signature" in err)
        assert call("verify", own / "releases" / SECOND)[0] == 2
        whole[place] ^= 1


def test_a_release_signed_by_another_key_is_refused_even_with_a_log_to_match(own, keys, check, call):
    release_store, theirs = release_store_of(own), signing_key(keys["theirs"][0])
    sealed_by(release_store.folder / SECOND, theirs)
    code, err = check(release_store.folder / SECOND)
    assert code == 2 and f"is signed by another key, {theirs.name}" in err
    code, _, err = call("verify", release_store.folder / SECOND)
    assert code == 2 and "not the release that was published under this name" in err
    sealed_by(release_store.folder / FIRST, theirs)
    logged_by(release_store, theirs)
    assert call("verify", release_store.folder / SECOND)[0] == 0
    assert check(release_store.folder / SECOND)[0] == 2
    assert call("verify", release_store.folder / SECOND, "--key", keys["ours"][1], "--key", keys["theirs"][1])[0] == 0


def test_a_release_whose_signature_was_taken_away_is_refused(own, keys, check, call):
    folder = own / "releases" / SECOND
    (folder / manifest.SIGNATURE).unlink()
    assert call("verify", folder)[0] == 2
    sealed_by(folder, None)
    code, err = check(folder)
    assert code == 2 and "is not signed; the key given is" in err
    release_store = ReleaseStore(own / "alone", EDITION)
    shutil.copytree(folder, release_store.folder / SECOND)
    assert call("verify", release_store.folder / SECOND)[0] == 0
    assert check(release_store.folder / SECOND)[0] == 2


def test_an_older_release_in_the_place_of_a_newer_one_is_refused(own, keys, check, call):
    release_store = release_store_of(own)
    head = release_store.log.heads()[-1]
    assert check(release_store.folder / SECOND, "--log-head", head)[0] == 0
    # Its files under the newer one's name.
    (release_store.folder / SECOND).rename(own / "kept")
    shutil.copytree(release_store.folder / FIRST, release_store.folder / SECOND)
    code, err = check(release_store.folder / SECOND)
    assert code == 2 and f"holds the files of {FIRST}" in err
    shutil.rmtree(release_store.folder / SECOND)
    (own / "kept").rename(release_store.folder / SECOND)
    # The pointer turned back.
    release_store.latest.unlink()
    release_store.latest.symlink_to(FIRST)
    code, err = check(release_store.latest)
    assert code == 2 and f"leads to {FIRST}, and the latest release is {SECOND}" in err
    # The newer one taken away with its line: only who saw the log before can tell.
    shutil.rmtree(release_store.folder / SECOND)
    lines = release_store.log.path.read_text().splitlines(keepends=True)
    release_store.log.path.write_text(lines[0])
    assert check(release_store.latest)[0] == 0
    code, err = check(release_store.latest, "--log-head", head[:20])
    assert code == 2 and "it was cut, or written again" in err
    assert check(release_store.latest, "--log-head", "nonsense")[0] == 2


@pytest.mark.parametrize("forger", [None, "theirs"])
def test_a_forged_line_that_retires_the_newest_release_is_refused(own, keys, check, forger):
    release_store = release_store_of(own)
    entry = {"what": "retired", "release": SECOND, "at": "2030-01-01T00:00:00+00:00", "text": "withdrawn"}
    entry |= {"previous": release_store.log.heads()[-1]}
    if forger:
        entry["key"] = (key := signing_key(keys[forger][0])).name
        entry["signature"] = release_log.b64encode(key.sign(json.dumps(entry).encode())).decode()
    with release_store.log.path.open("a") as file:
        file.write(json.dumps(entry) + "\n")
    assert release_store.point() == FIRST
    code, err = check(release_store.latest)
    assert code == 2 and "line 3 is " in err


def test_a_log_is_refused_whatever_line_or_bit_of_it_changed(own):
    release_store, key = release_store_of(own), SigningKey(ed25519.Ed25519PrivateKey.generate())
    log = ReleaseLog(own / f"{EDITION}.log.jsonl")
    for number in range(4):
        log.add("published", f"{EDITION}-r{number}", {"digest": "0" * 64}, key if number else None)
    whole = log.path.read_bytes()
    heads = log.heads()
    assert len(set(heads)) == 5 and heads[0] == EMPTY
    assert heads[-1] == hashlib.sha256(whole.splitlines()[-1]).hexdigest()
    lines = whole.splitlines(keepends=True)
    for changed in (lines[1:], lines[:1] + lines[2:], [lines[0], lines[2], lines[1], lines[3]], [*lines, lines[3]]):
        log.path.write_bytes(b"".join(changed))
        with pytest.raises(SourceError, match="line [1-5]: does not follow"):
            log.entries()

    @given(st.integers(0, len(whole) - 2), st.integers(0, 7))
    @settings(max_examples=150, deadline=None, database=None)
    def flipped(place, bit):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << bit
        log.path.write_bytes(damaged)
        # The last line is bound by its signature, and one before it by the next line.
        with pytest.raises(SourceError, match="get it again"):
            log.entries()

    flipped()
    assert release_store.log.entries()


def test_a_release_dated_before_the_latest_never_becomes_the_latest(own, keys, call, monkeypatch):
    release_store, sign = release_store_of(own), ("--sign", keys["ours"][0])
    earlier = datetime.now(UTC) - timedelta(days=400)
    with monkeypatch.context() as patch:
        patch.setattr(release_log, "now", lambda: earlier)
        code, out, err = call("publish", EDITION, "--again", "--state", own, *sign)
    assert (code, out, err.count("\n")) == (2, "", 1) and f"{SECOND} is dated " in err and "set the clock" in err
    assert release_store.names() == [FIRST, SECOND]
    # One that a machine with a wrong clock put there all the same, under the highest number.
    third = release_store.folder / f"{EDITION}-r3"
    shutil.copytree(release_store.folder / FIRST, third)
    sealed_by(third, signing_key(keys["ours"][0]), release=third.name)
    with monkeypatch.context() as patch:
        patch.setattr(release_log, "now", lambda: earlier)
        digest = manifest.digest_of(third)
        release_store.log_event("published", third.name, {"digest": digest}, signing_key(keys["ours"][0]))
    assert release_store.point() == SECOND == os.readlink(release_store.latest)
    assert release_store.next_name() == f"{EDITION}-r4"
    assert call("publish", "--erratum", "wrong", "--of", SECOND, "--retire", "--state", own, *sign)[0] == 0
    assert os.readlink(release_store.latest) == FIRST


def test_a_folder_that_was_put_beside_the_releases_is_none_of_them(own, call):
    release_store = release_store_of(own)
    third = release_store.folder / f"{EDITION}-r3"
    shutil.copytree(release_store.folder / FIRST, third)
    sealed_by(third, None, release=third.name)
    assert release_store.point() == SECOND
    code, _, err = call("verify", third)
    assert code == 2 and "has no line that publishes it" in err


def test_once_signed_every_later_line_is_and_an_unchanged_edition_is_published_again_to_sign_it(
    own, keys, call, tmp_path
):
    sign = ("--sign", keys["ours"][0])
    code, _, err = call("publish", EDITION, "--again", "--state", own)
    assert code == 2 and err.count("\n") == 1 and f"{FIRST} is signed" in err and "--sign" in err
    erratum = ("publish", "--erratum", "a note", "--of", SECOND, "--state", own)
    assert [call(*erratum)[0], call(*erratum, *sign)[0]] == [2, 0]
    assert [entry["what"] for entry in release_store_of(own).log.entries()] == ["published", "published", "erratum"]
    asked = ("publish", EDITION, "--state", own, "--out", tmp_path / "there", "--json")
    made = [json.loads(call(*asked, *more)[1]) for more in ((), (), sign)]
    assert [(one["release"], one["new"]) for one in made] == [(FIRST, True), (FIRST, False), (SECOND, True)]


def test_a_key_that_must_not_sign_is_refused_in_one_line_before_any_work(own, keys, call, tmp_path, monkeypatch):
    private, public = keys["ours"]
    inside = own / "release.key"
    shutil.copy(private, inside)
    shared, _ = made_key(tmp_path, "shared")
    shared.chmod(0o640)
    other, other_public = made_key(tmp_path, "rsa", rsa.generate_private_key(65537, 2048))
    locked, _ = made_key(tmp_path, "locked", passphrase=b"a long one")
    (tmp_path / "noise").write_bytes(os.urandom(100))
    (tmp_path / "noise").chmod(0o600)
    (tmp_path / "large").write_bytes(b"-" * 2**20)
    noise = tmp_path / "noise"
    refusals = {
        ("publish", EDITION, "--again", "--state", own, "--sign"): {
            inside: "must not lie in", public: "is a public key", shared: "chmod 600", other: "is no Ed25519 key",
            locked: f"is encrypted: set {PASSPHRASE}", noise: "is no private key in PEM",
            tmp_path / "large": "too large", tmp_path / "gone": "no file", tmp_path: "is a folder",
            tmp_path / ("n" * 300): "File name too long",
        },
        ("verify", own / "releases" / SECOND, "--key"): {
            private: "is a private key", other_public: "no Ed25519", noise: "no public",
        },
    }  # fmt: skip
    for command, told in refusals.items():
        for path, part in told.items():
            code, out, err = call(*command, path)
            assert (code, out, err.count("\n")) == (2, "", 1) and part in err, (path, err)
    monkeypatch.setenv(PASSPHRASE, "another")
    with pytest.raises(SettingsError, match="does not open it"):
        signing_key(locked)
    with pytest.raises(SettingsError, match=f"is not encrypted: unset {PASSPHRASE}"):
        signing_key(private)
    monkeypatch.setenv(PASSPHRASE, "a long one")
    assert signing_key(locked).name


def test_the_log_of_an_earlier_version_is_refused_in_one_line(tmp_path):
    (tmp_path / "X-2025.ledger.jsonl").write_text('{"what": "published", "release": "X-2025-r1"}\n')
    with pytest.raises(SourceError, match=r"X-2025.ledger.jsonl is the log of an earlier version, [^\n]+$"):
        ReleaseLog(tmp_path / "X-2025.log.jsonl").entries()
