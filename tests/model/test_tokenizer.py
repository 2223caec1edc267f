import json

import pytest

from model.tokenizer import CharTokenizer, UnknownCharacter


@pytest.fixture
def vocabulary_file(tmp_path):
    def write(content):
        path = tmp_path / "vocab.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return write


def test_the_vocabulary_of_a_text_is_its_characters_sorted():
    assert CharTokenizer.of_text("hello\n").characters == ("\n", "e", "h", "l", "o")


def test_an_id_is_a_place_in_the_vocabulary():
    tokenizer = CharTokenizer(["c", "a", "b"])
    assert tokenizer.encode("abcab") == [1, 2, 0, 1, 2]
    assert tokenizer.decode([1, 2, 0]) == "abc"
    assert tokenizer.decode(iter([])) == ""


@pytest.mark.parametrize(
    "text", ["", "To be,\nor not\tto be", "naïve — 日本 🙂\u2028\x00", '"\\{}[]'], ids=ascii
)
def test_a_text_comes_back_from_its_ids_and_from_a_file(text, vocabulary_file):
    tokenizer = CharTokenizer.of_text(text + "x")
    assert tokenizer.decode(tokenizer.encode(text)) == text
    loaded = CharTokenizer.load(vocabulary_file(tokenizer.to_json().encode()))
    assert loaded.characters == tokenizer.characters
    assert loaded.encode(text) == tokenizer.encode(text)


def test_the_file_is_in_any_order(vocabulary_file):
    assert CharTokenizer.load(vocabulary_file({"b": 1, "c": 2, "a": 0})).characters == ("a", "b", "c")


@pytest.mark.parametrize("characters", [["a", "b", "a"], ["ab"], [""], ["\ud800"]])
def test_what_is_no_vocabulary_of_characters_is_refused(characters):
    with pytest.raises(ValueError, match="single characters, each there once"):
        CharTokenizer(characters)


def test_unknown_characters_are_listed_once_in_order():
    assert CharTokenizer("ab").unknown("bxayxz") == ["x", "y", "z"]
    assert CharTokenizer("ab").unknown("abba") == []


def test_an_unknown_character_is_refused_beside_what_is_known():
    with pytest.raises(UnknownCharacter, match=r"does not know 'é' '\\t'; it knows newline space a"):
        CharTokenizer.of_text(" a\n").encode("aéa\té")


def test_a_long_list_of_unknown_characters_is_cut():
    with pytest.raises(UnknownCharacter) as refused:
        CharTokenizer("A").encode("abcdefghijklmnopqrstuvwxyz")
    assert "'j'" in str(refused.value)
    assert "'k'" not in str(refused.value)


def test_blanks_and_control_characters_are_listed_by_name_or_code():
    assert CharTokenizer("a \n\t\x00\u2028é[").listing() == "a space newline tab U+0000 U+2028 é ["


@pytest.mark.parametrize(
    "content",
    [
        {"a": 0, "b": 2},
        {"a": 1, "b": 2},
        {"a": 0, "b": 0},
        {"a": 0, "th": 1},
        {"a": 0, "": 1},
        {"a": 0, "b": "1"},
        {"a": False, "b": True},
        {"a": 0, "b": 1.0},
        {"a": 0, "\udfff": 1},
        {},
        ["a", "b"],
        "ab",
        None,
    ],
    ids=repr,
)
def test_a_file_that_is_no_vocabulary_is_refused_and_named(content, vocabulary_file):
    with pytest.raises(ValueError, match=r"vocab\.json must map single characters to the ids 0 to V - 1"):
        CharTokenizer.load(vocabulary_file(content))


@pytest.mark.parametrize("content", [b"", b"{", b'{"\xff": 0}'])
def test_a_file_that_is_not_json_is_refused_and_named(content, vocabulary_file):
    with pytest.raises(ValueError, match=r"vocab\.json is not JSON in UTF-8"):
        CharTokenizer.load(vocabulary_file(content))


def test_a_missing_file_is_reported_as_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"vocab\.json"):
        CharTokenizer.load(tmp_path / "vocab.json")
