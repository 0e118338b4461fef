"""Compiled code is loaded only from what nobody else can write, under the name that it was kept under."""

import errno
import os
import shutil
import stat
import time
import warnings

import pytest

from edgewise.kernels import store
from edgewise.kernels.cache import kernel

posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="the system has no owners of files")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that does not exist yet, for compiled code."""
    place = tmp_path / "cache"
    monkeypatch.setenv("EDGEWISE_CACHE_DIR", str(place))
    store._is_trusted.cache_clear()
    return place


def test_what_is_kept_is_found_again_in_a_folder_of_the_user_alone(folder):
    assert store.read("kernel\nkey") is None
    store.write("kernel\nkey", b"code")
    assert store.read("kernel\nkey") == b"code"
    assert store.read("kernel\nother key") is None
    assert [file.name.partition("-")[0] for file in folder.iterdir()] == ["kernel"]
    if hasattr(os, "geteuid"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@posix
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_a_folder_that_others_can_write_is_not_used_and_that_is_said_once(folder, mode):
    store.write("kernel\nkey", b"code")
    folder.chmod(mode)
    store._is_trusted.cache_clear()
    with pytest.warns(RuntimeWarning, match="can be written by others.*EDGEWISE_CACHE_DIR"):
        assert store.read("kernel\nkey") is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.read("kernel\nkey") is None
        store.write("other\nkey", b"code")
    assert len(list(folder.iterdir())) == 1


@posix
def test_the_users_call_that_had_it_compiled_is_shown(folder):
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="can be written by others") as caught:
        assert kernel(lambda a: a + 1)(2) == 3
    assert [warning.filename for warning in caught] == [__file__]


@posix
def test_what_belongs_to_another_user_is_not_used(folder, monkeypatch):
    store.write("kernel\nkey", b"code")
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert store.read("kernel\nkey") is None  # the file
    store._is_trusted.cache_clear()
    with pytest.warns(RuntimeWarning, match=f"belongs to user {owner}, not to {owner + 1}"):
        assert store.read("kernel\nkey") is None


@posix
@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
def test_a_file_that_others_can_write_is_not_read(folder, mode):
    store.write("kernel\nkey", b"code")
    (file,) = folder.iterdir()
    file.chmod(mode)
    assert store.read("kernel\nkey") is None
    store.write("kernel\nkey", b"code again")
    assert store.read("kernel\nkey") == b"code again"


def test_a_file_under_the_name_of_another_is_not_read(folder):
    store.write("one\nkey", b"first")
    (one,) = folder.iterdir()
    store.write("two\nkey", b"second")
    (two,) = set(folder.iterdir()) - {one}
    shutil.copy(one, two)
    assert store.read("two\nkey") is None and store.read("one\nkey") == b"first"


@pytest.mark.parametrize("failing", ["fdopen", "replace"])
def test_a_full_disk_leaves_nothing_behind(folder, monkeypatch, failing):
    def full(*arguments, **keywords):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, failing, full)
    for _ in range(3):
        store.write("kernel\nkey", b"code")
    assert list(folder.iterdir()) == [] and store.read("kernel\nkey") is None


def test_what_a_killed_process_left_is_cleared_at_the_first_writing(folder):
    folder.mkdir(mode=0o700)
    left, young, code = (folder / name for name in ("writing-abcdefgh", "writing-ijklmnop", "kernel-0.code"))
    day = 86_400
    for file, age in ((left, day + 60), (young, day - 60), (code, 100 * day)):
        file.write_bytes(b"half")
        os.utime(file, (time.time() - age,) * 2)
    (folder / "writing-folder").mkdir()
    os.utime(folder / "writing-folder", (0, 0))
    assert store.read("kernel\nkey") is None and left.exists()
    store.write("kernel\nkey", b"code")
    assert not left.exists() and young.exists() and code.exists() and (folder / "writing-folder").exists()
    assert store.read("kernel\nkey") == b"code"
    left.write_bytes(b"half")
    os.utime(left, (0, 0))
    store.write("other\nkey", b"code")
    assert left.exists()  # looked for once in a process


def test_without_a_home_nothing_is_kept_and_no_folder_is_made(tmp_path, monkeypatch):
    for name in ("EDGEWISE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as where there is no entry for the user
    monkeypatch.chdir(tmp_path)
    assert store.cache_directory() is None
    store.write("kernel\nkey", b"code")
    assert store.read("kernel\nkey") is None and list(tmp_path.iterdir()) == []


def test_a_relative_cache_folder_of_the_desktop_is_ignored(tmp_path, monkeypatch):
    monkeypatch.delenv("EDGEWISE_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert store.cache_directory() == tmp_path / ".cache" / "edgewise"


@pytest.mark.parametrize(("configured", "below"), [("~/x", "x"), ("~", ""), ("", ".cache/edgewise")])
def test_a_tilde_is_the_home(tmp_path, monkeypatch, configured, below):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("EDGEWISE_CACHE_DIR", configured)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert store.cache_directory() == tmp_path / below


@pytest.mark.parametrize("configured", ["~/x", "~no-such-user-of-edgewise/x"])
def test_a_tilde_without_a_home_keeps_nothing(tmp_path, monkeypatch, configured):
    monkeypatch.setenv("EDGEWISE_CACHE_DIR", configured)
    monkeypatch.setenv("HOME", "here")
    monkeypatch.chdir(tmp_path)
    store.write("kernel\nkey", b"code")
    assert store.cache_directory() is None and list(tmp_path.iterdir()) == []


def test_a_relative_folder_that_was_asked_for_stays(monkeypatch):
    monkeypatch.setenv("EDGEWISE_CACHE_DIR", "x/~y")
    assert str(store.cache_directory()) == os.path.join("x", "~y")
