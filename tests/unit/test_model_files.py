"""What counts as a model on this disk, and what makes it another one."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_model import make_tiny_model

from gateway.embedding.model_files import (
    CACHED_AS,
    ONNX_NAMES,
    DamagedError,
    ModelFiles,
    digest,
    find_in_cache,
    locate,
    source_of,
)
from protocol.settings import EmbeddingSettings

NAME = "sentence-transformers/all-MiniLM-L6-v2"
REVISION = "5f1b8cd78bc4fb444dd171e59b18f3a3af89a079"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def model(made, tmp_path):
    return Path(shutil.copytree(made, tmp_path / "model"))


def of_path(folder, **more):
    return locate(EmbeddingSettings(model_path=str(folder), **more), folder.parent / "cache")


def files_of(folder, **more) -> ModelFiles:
    found = of_path(folder, **more).files
    assert found is not None
    return found


def kept_in(name, cache) -> ModelFiles:
    found = find_in_cache(name, cache)
    assert found is not None
    return found


def cached(model, cache, *, repository="Qdrant/all-MiniLM-L6-v2-onnx", revision=REVISION, onnx="model.onnx"):
    """The model as huggingface_hub keeps one; returns the folder of the revision."""
    repository_folder = cache / f"models--{repository.replace('/', '--')}"
    folder = repository_folder / "snapshots" / revision
    blobs = repository_folder / "blobs"
    blobs.mkdir(parents=True, exist_ok=True)
    for path in [path for path in model.rglob("*") if path.is_file()]:
        name = onnx if path.suffix == ".onnx" else path.relative_to(model).as_posix()
        blob = blobs / hashlib.sha256(path.read_bytes()).hexdigest()
        blob.write_bytes(path.read_bytes())
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        try:
            (folder / name).symlink_to(blob)
        except OSError:  # where links need a privilege, huggingface_hub moves the file
            blob.rename(folder / name)
    return folder


def as_main(folder):
    refs = folder.parent.parent / "refs"
    refs.mkdir(exist_ok=True)
    (refs / "main").write_text(folder.name)


@pytest.mark.parametrize("onnx", ONNX_NAMES)
def test_a_folder_may_hold_its_model_in_several_places(model, onnx):
    (model / "onnx" / "model.onnx").rename(model / "kept")
    (model / onnx).parent.mkdir(exist_ok=True)
    (model / "kept").rename(model / onnx)
    found = of_path(model)
    assert found.reason is None
    assert found.files == (NAME, model, model / onnx, model / "tokenizer.json")


def test_no_folder_is_missing(tmp_path):
    assert of_path(tmp_path / "none")[:2] == (None, "model_missing")
    (tmp_path / "file").write_text("x")
    assert of_path(tmp_path / "file")[:2] == (None, "model_missing")


@pytest.mark.parametrize("name", ["onnx/model.onnx", "tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize("how", ["gone", "empty", "folder"])
def test_a_folder_that_lacks_something_is_broken(model, name, how):
    (model / name).unlink()
    if how == "empty":
        (model / name).touch()
    elif how == "folder":
        (model / name).mkdir()
    assert of_path(model)[:2] == (None, "model_broken")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="permissions bind nobody here")
def test_what_cannot_be_read_is_broken(model):
    (model / "tokenizer.json").chmod(0)
    assert of_path(model)[:2] == (None, "model_broken")
    model.chmod(0)
    try:
        assert of_path(model)[:2] == (None, "model_broken")
    finally:
        model.chmod(0o700)


@pytest.mark.parametrize("path", ["a\0b", "~nobody-of-that-name/model"])
def test_a_path_that_is_none_is_an_answer_not_a_failure(tmp_path, path):
    assert locate(EmbeddingSettings(model_path=path), tmp_path).reason in {"model_missing", "model_broken"}
    assert locate(EmbeddingSettings(cache_dir=path), tmp_path)[:2] == (None, "model_missing")


def test_a_named_folder_goes_before_the_cache(model, tmp_path):
    cached(model, tmp_path / "cache")
    assert of_path(tmp_path / "none")[:2] == (None, "model_missing")


def test_the_cache_is_the_given_one_else_the_default(model, tmp_path):
    folder = cached(model, tmp_path / "given")
    found = locate(EmbeddingSettings(cache_dir=str(tmp_path / "given")), tmp_path / "default")
    assert found.files == (NAME, folder, folder / "model.onnx", folder / "tokenizer.json")
    assert found.cache == tmp_path / "given"
    found = locate(EmbeddingSettings(), tmp_path / "default")
    assert found == (None, "model_missing", tmp_path / "default")


def test_the_main_revision_goes_first_and_a_partial_one_is_passed_over(model, tmp_path):
    older, newer = (cached(model, tmp_path, revision=digit * 40) for digit in "ba")
    as_main(older)
    assert kept_in(NAME, tmp_path).folder == older
    (older / "tokenizer.json").unlink()
    assert kept_in(NAME, tmp_path).folder == newer
    (newer / "model.onnx").unlink()  # not there yet: to be fetched, not broken
    assert locate(EmbeddingSettings(), tmp_path)[:2] == (None, "model_missing")


def test_a_revision_cannot_lead_out_of_the_cache(model, tmp_path):
    folder = cached(model, tmp_path)
    outside = shutil.copytree(model, tmp_path / "outside")
    (outside / "onnx" / "model.onnx").rename(outside / "model.onnx")
    as_main(folder)
    (folder.parent.parent / "refs" / "main").write_text("../../../outside")
    assert kept_in(NAME, tmp_path).folder == folder


@pytest.mark.parametrize("name", ["../evil", "a/../../b", "..\\..\\b/c", "/etc/x", "one", "a/b/c", "a b/c", "a/b\n"])
def test_a_name_that_is_no_repository_is_in_no_cache(tmp_path, name):
    assert find_in_cache(name, tmp_path) is None


def test_a_model_of_an_unknown_name_is_cached_under_that_name(model, tmp_path):
    folder = cached(model, tmp_path, repository="someone/else", onnx="onnx/model.onnx")
    assert kept_in("someone/else", tmp_path).onnx == folder / "onnx" / "model.onnx"


def test_an_old_archive_counts(model, tmp_path):
    shutil.copytree(model, tmp_path / "fast-all-MiniLM-L6-v2")
    assert kept_in(NAME, tmp_path).folder == tmp_path / "fast-all-MiniLM-L6-v2"


def test_the_digest_is_of_content_and_name_not_of_place(model, tmp_path):
    first = digest(files_of(model))
    copy = Path(shutil.copytree(model, tmp_path / "copy"))
    assert digest(files_of(copy)) == first
    (copy / "onnx" / "model.onnx").rename(copy / "model.onnx")
    assert digest(files_of(copy)) == first
    assert digest(files_of(copy, model=NAME.upper())) == first  # fastembed minds no case either
    assert digest(files_of(copy, model="another/name")) != first  # another family may pool another way
    assert len(first) == 64


@pytest.mark.parametrize(
    "name",
    [
        "onnx/model.onnx",
        "onnx/model.onnx_data",
        "tokenizer.json",
        "tokenizer_config.json",
        "config.json",
        "special_tokens_map.json",
        "1_Pooling/config.json",
    ],
)
def test_whatever_decides_a_vector_decides_the_digest(model, name):
    before = digest(files_of(model))
    path = model / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes((path.read_bytes() if path.exists() else b"") + b" ")
    assert digest(files_of(model)) != before


def test_what_does_not_decide_is_left_out(model):
    before = digest(files_of(model))
    (model / "README.md").write_text("about")
    (model / "vocab.txt").write_text("word")
    assert digest(files_of(model)) == before


def test_another_seed_is_another_digest(made, tmp_path):
    assert digest(files_of(make_tiny_model(tmp_path / "t", seed=1))) != digest(files_of(made))
    assert digest(files_of(make_tiny_model(tmp_path / "t"))) == digest(files_of(made))


def test_a_cached_file_that_is_not_what_its_name_says_is_damaged(model, tmp_path):
    folder = cached(model, tmp_path)
    if not (folder / "model.onnx").is_symlink():
        pytest.skip("no links on this system")
    files = kept_in(NAME, tmp_path)
    assert digest(files) == digest(files_of(model))
    content = bytearray((folder / "model.onnx").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "model.onnx").resolve().write_bytes(content)
    with pytest.raises(DamagedError):
        digest(files)


def test_the_table_agrees_with_fastembed():
    """In a process of its own: whoever imports fastembed first decides how quiet it is."""
    code = (
        "from fastembed import TextEmbedding\n"
        "for one in TextEmbedding.list_supported_models():\n"
        "    print(one['model'], one['sources']['hf'], one['model_file'])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    theirs = {
        name: (repository, file)
        for name, repository, file in map(str.split, told.splitlines())
        if name.lower() in CACHED_AS or file.split("/")[-1] == "model.onnx"  # the others are not for texts alone
    }
    assert NAME in theirs
    for name, (repository, file) in theirs.items():
        assert source_of(name)[0] == repository, name
        assert file in source_of(name)[1], name
    assert {name.lower() for name in theirs} >= CACHED_AS.keys()
