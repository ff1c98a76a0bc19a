"""Whether a text is in the language it is read by: nothing is said of English, what clearly does not fit is told."""

from __future__ import annotations

import json
import pickle
import random
import runpy
import unicodedata
from pathlib import Path

import pytest
import spacy

from limbeck.corpus import Corpus
from limbeck.corpus.language import fit_of, fit_of_list, function_words, undivided

LANGUAGES = Path(spacy.__file__).parent / "lang"
ENGLISH = {
    "fiction": "It was late when she came back to the house, and nobody had lit the lamp. He must have gone, she "
    "thought; "
    "there was no coat on the chair, and the window that he always shut stood open to the rain and the dark garden.",
    "tweets": "omg cant believe this!! @anna u were SO right about that show lol #bestnight gonna watch it again "
    "2nite w/ "
    "everyone who missed it, dont @ me, its the only thing i will be doing till monday tbh :) https://t.co/x1y2z3",
    "mixed with Spanish": "So I told mi abuela that we are not coming to the fiesta, and she said ay mija you never "
    "call me, and then my primo walked in with the cake and everybody was screaming at him because he was so late.",
    "legal": "The Licensee shall indemnify and hold harmless the Licensor against any and all claims arising out "
    "of or in "
    "connection with this Agreement, except to the extent that such claims result from the negligence of the Licensor.",
    "medical": "BACKGROUND: Serum ferritin predicts mortality in haemodialysis patients. METHODS: A retrospective "
    "cohort "
    "of 412 adults receiving maintenance haemodialysis was analysed by Cox regression, adjusted for age, sex, diabetes "
    "and C-reactive protein. RESULTS: Median follow-up was 3.2 years; hazard ratio 1.4 (95% CI 1.1 to 1.8).",
    "capitals": "THE COMMITTEE HAS DECIDED THAT NO FURTHER ACTION IS TO BE TAKEN IN THIS MATTER UNTIL THE REPORT OF "
    "THE "
    "ENGINEERS IS BEFORE IT. ALL MEMBERS WILL BE TOLD OF THE DATE OF THE NEXT MEETING BY THE END OF THE MONTH.",
    "poetry": "O wild moon over empty water, / no oar, no sail, no voice along the sand; / I kept your letter, "
    "daughter, "
    "/ pressed in the heavy hollow of my hand, / and when the tide came singing up the land / I let it go.",
    "tokenised": "the u.s. economy did n't grow in the third quarter , -lrb- reuters -rrb- said , as consumers could "
    "n't "
    "be persuaded to spend more on cars and homes , which are what the government 's figures had been built on .",
    "names": "Juan de la Cruz. Maria del Carmen de la Vega. Los Angeles. San Luis de la Paz. Vincent van der Berg. "
    * 4,
    "headlines": "Shares slide after bank warning. Police arrest three. Storm hits coast. Minister quits over emails. "
    "Rovers win away again. Oil price falls. Actor weds. Court frees editor. Floods close roads. Union backs strike. "
    "Museum buys painting. Pilot saves passengers. Factory shuts. Doctors urge caution. Rail fares rise again.",
    "code": "def add(self, other):\n    return Vector(self.x + other.x, self.y + other.y)\n" * 10,
}
#: what spaCy's package has no examples of, or too few
FINNISH = (
    "Hän ei ollut vielä tullut kotiin, kun me lähdimme, mutta he sanoivat että se ei haittaa. Minä en tiennyt, mitä "
    "olisin tehnyt, jos sinä olisit ollut siellä, sillä kaikki oli niin kuin ennen ja silti jotain oli muuttunut. Kuka "
    "se oli, joka sanoi että me olemme vain hetken täällä, eikä kukaan muu kuin me itse voi sitä tietää?"
)
TURKISH = (
    "Bu sabah eve geldiğimde kimse yoktu ve ben ne yapacağımı bilmiyordum, çünkü her şey çok farklı görünüyordu. O "
    "kadar uzun zaman sonra bile senin için bir mektup yazmak istedim ama daha sonra vazgeçtim. Hiç kimse bana neden "
    "böyle olduğunu söylemedi; belki de onlar da bilmiyordu. Biz şimdi ya gideceğiz ya da burada kalacağız, ama en "
    "azından ne olacağını hep birlikte göreceğiz, çünkü bundan başka bir yol yok gibi."
)
THAI = "วันนี้อากาศดีมากเราจึงไปเดินเล่นที่สวนสาธารณะกับเพื่อน ๆ แล้วก็กินข้าวด้วยกันที่ร้านอาหารใกล้บ้านของฉัน"
CHINESE = "今天天气很好，我们去公园散步，然后和朋友一起在附近的餐馆吃饭。大家都说，这样的日子应该多一些，"
CHINESE += "可是谁也不知道明天会怎么样。他说他从来没有见过这么大的雪，连路都看不见了。"
GERMAN = (
    "Als er nach Hause kam, war im ganzen Haus kein Licht, und er wusste nicht, ob sie schon gegangen war"
    " oder noch auf "
    "ihn wartete. Es war so still, dass man die Uhr in der Küche hören konnte, und doch hatte er das Gefühl, dass "
    "jemand bei ihm sei, der ihm etwas sagen wollte, was er nicht verstehen würde."
)
FOUND = (
    "de", "fr", "es", "pt", "ro", "ca", "pl", "vi", "ru", "uk", "ar", "fa", "hi", "ne", "el", "he", "ko", "ta", "ja",
    "zh",
)  # fmt: skip


def examples(code: str) -> list[str]:
    """spaCy's example sentences, from the file itself: the package of a language takes seconds to import."""
    found: list[str] = runpy.run_path(str(LANGUAGES / code / "examples.py"))["sentences"]
    return found


@pytest.mark.parametrize("kind", ENGLISH)
def test_of_english_of_many_kinds_nothing_is_said(kind: str) -> None:
    assert fit_of([ENGLISH[kind]], "en")


def test_of_the_sample_corpus_and_of_any_part_of_it_nothing_is_said() -> None:
    with Corpus("sample") as corpus:
        words = [word for sentence in corpus for word in sentence.words]
        assert corpus.fit
        assert not corpus.language_warning
    chosen = random.Random(0)
    for size in (45, 100, 400):
        for at in (chosen.randrange(len(words) - size) for _ in range(50)):
            assert fit_of([" ".join(words[at : at + size])], "en")


@pytest.mark.parametrize("code", FOUND)
def test_another_language_read_as_english_is_noticed_and_named(code: str) -> None:
    fit = fit_of(examples(code), "en")
    assert not fit
    assert code in fit.looks
    assert fit_of(examples(code), code), "and read as what it is it fits"


@pytest.mark.parametrize(("text", "code"), [(FINNISH, "fi"), (TURKISH, "tr"), (THAI, "th"), (CHINESE, "zh")])
def test_so_are_languages_of_long_words_and_of_none(text: str, code: str) -> None:
    fit = fit_of([text], "en")
    assert not fit
    assert fit.looks == (code,)


LATIN = (
    "Gallia est omnis divisa in partes tres, quarum unam incolunt Belgae, aliam Aquitani, tertiam qui ipsorum lingua "
    "Celtae, nostra Galli appellantur. Hi omnes lingua, institutis, legibus inter se differunt. Gallos ab Aquitanis "
    "Garumna flumen, a Belgis Matrona et Sequana dividit. Horum omnium fortissimi sunt Belgae, propterea quod a cultu "
    "atque humanitate provinciae longissime absunt."
)
SWAHILI = (
    "Watu wote wamezaliwa huru, hadhi na haki zao ni sawa. Wote wamejaliwa akili na dhamiri, hivyo yapasa watendeane "
    "kindugu. Kila mtu anastahili kuwa na haki zote na uhuru wote ambao umeelezwa katika Taarifa hii bila ubaguzi wo "
    "wote. Yaani bila kubaguana kwa rangi, taifa, wanaume kwa wanawake, dini, siasa, fikara, asili ya taifa la mtu."
)


@pytest.mark.parametrize(("text", "language"), [(LATIN, "en"), (SWAHILI, "en")])
def test_prose_without_function_words_is_noticed_whatever_it_is_in(text: str, language: str) -> None:
    """There is no list of these languages: what they are is not said."""
    fit = fit_of([text], language)
    assert not fit
    assert fit.looks == ()
    assert fit_of(text.replace(".", "").split(), language)  # a list of the same words is no prose


@pytest.mark.parametrize("language", ["de", "fr", "zh", "ru", "ja", "fi", "german", "es-MX"])
def test_english_read_as_another_language_is_noticed(language: str) -> None:
    fit = fit_of([ENGLISH["fiction"], ENGLISH["tokenised"]], language)
    assert not fit
    assert fit.looks == ("en",)


@pytest.mark.parametrize("one", ["de", "fr", "es", "ru", "ja", "zh"])
@pytest.mark.parametrize("other", ["de", "fr", "es", "ru", "ja", "zh"])
def test_of_two_languages_the_wrong_one_is_noticed(one: str, other: str) -> None:
    assert bool(fit_of(examples(one), other)) == (one == other)


def test_of_every_language_that_spacy_has_examples_of_nothing_is_said() -> None:
    for code in function_words_there():
        try:
            sentences = examples(code)
        except FileNotFoundError:
            continue
        assert fit_of(sentences, code), code


def function_words_there() -> list[str]:
    return sorted(path.name for path in LANGUAGES.iterdir() if function_words(path.name))


def test_what_is_too_short_or_says_nothing_is_left_alone() -> None:
    assert fit_of(["Guten Morgen, wie geht es dir?"], "en")
    assert fit_of(["日本"], "en")
    assert fit_of([], "en")
    assert fit_of(["4711 0815 -- ++ 😀😀 " * 50], "en")
    draw = random.Random(1)
    assert fit_of([" ".join(f"w{draw.randrange(90)}" for _ in range(900))], "en")
    assert fit_of([" ".join("".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(900))], "en")
    assert fit_of([" ".join("abcdefghij")] * 40, "en")
    for without_a_list in ("xx", "klingon"):
        assert fit_of([GERMAN], without_a_list)


def test_a_language_that_spacy_has_no_rules_for_is_not_taken_for_one_that_it_has() -> None:
    georgian = "ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით." * 2
    fit = fit_of([georgian], "en")
    assert not fit
    assert fit.looks == ()


def test_half_a_text_in_another_language_is_not_clear() -> None:
    assert fit_of([GERMAN, ENGLISH["fiction"], ENGLISH["tokenised"]], "en")


def test_decomposed_characters_are_those_they_stand_for() -> None:
    decomposed = [unicodedata.normalize("NFD", sentence) for sentence in examples("vi")]
    assert fit_of(decomposed, "en").looks == ("vi",)
    assert fit_of(decomposed, "vi")


def test_lists_of_words_are_judged_by_the_function_words_that_are_in_them() -> None:
    draw = random.Random(2)
    rest = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(4000)]
    assert fit_of_list([*function_words("de"), *rest], "en").looks == ("de",)
    assert fit_of_list([*function_words("en"), *rest], "en")
    assert fit_of_list(rest, "en")
    assert not fit_of_list(CHINESE.split("，"), "en")


def test_text_without_blanks_that_is_called_words_is_noticed() -> None:
    assert undivided([CHINESE, CHINESE])
    assert not undivided([" ".join(CHINESE)] * 3), "divided, if finely"
    assert not undivided([GERMAN])
    assert not undivided([])
    assert not undivided(["日本"])


# --- of a corpus ------------------------------------------------------------------------------------------


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_corpus_says_what_to_give_and_its_record_keeps_it(tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", GERMAN)
    with Corpus(path) as corpus:
        assert "--language de" in corpus.language_warning
        assert "\n" not in corpus.language_warning
        assert corpus.describe()["language_warning"] == corpus.language_warning
        assert pickle.loads(pickle.dumps(corpus)).language_warning == corpus.language_warning
    with Corpus(path, language="de") as corpus:
        assert corpus.language_warning == ""
        assert "language_warning" not in corpus.describe()
    assert Corpus.from_text(GERMAN).language_warning
    assert not Corpus.from_text(GERMAN, language="German").language_warning


def test_every_format_that_rules_divide_is_looked_at(tmp_path: Path) -> None:
    sentences = GERMAN.split(", ")
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"text": sentences}), tmp_path / "a.parquet")
    files = {
        "a.jsonl": "\n".join(json.dumps({"text": sentence}) for sentence in sentences),
        "a.tsv": "\n".join(f"1\tzwei\t{sentence}" for sentence in sentences),
    }
    for name, text in files.items():
        written(tmp_path, name, text)
    for name, columns in (("a.parquet", None), ("a.jsonl", None), ("a.tsv", ["3"])):
        with Corpus(tmp_path / name, columns=columns) as corpus:
            assert "--language de" in corpus.language_warning, name


def test_words_are_not_divided_by_rules_and_only_a_chosen_language_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", GERMAN.replace(",", " ,"))
    for language, wrong in (("en", False), ("de", False), ("fr", True)):
        with Corpus(path, format="words", language=language) as corpus:
            assert bool(corpus.language_warning) == wrong
    lines = "\n".join(json.dumps({"words": sentence.split()}) for sentence in GERMAN.split(", "))
    with Corpus(written(tmp_path, "a.jsonl", lines)) as corpus:
        assert not corpus.language_warning
        assert not corpus.fit  # what reads words in English sentences wants to know
    with Corpus(written(tmp_path, "zh.txt", CHINESE * 2), format="words") as corpus:
        assert "--language zh" in corpus.language_warning


def test_characters_need_no_language() -> None:
    assert Corpus.from_text(CHINESE).language_warning
    assert not Corpus.from_text(CHINESE, characters=True).language_warning


def test_several_files_are_looked_into(tmp_path: Path) -> None:
    for number in range(12):
        written(tmp_path, f"{number:02}.txt", GERMAN if number else ENGLISH["fiction"])
    with Corpus(tmp_path) as corpus:
        assert "--language de" in corpus.language_warning


def test_only_the_beginning_of_a_text_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [ENGLISH["fiction"] + "\n\n"] * 500
    path = written(tmp_path, "a.txt", "".join(lines) + (GERMAN + "\n\n") * 5000)
    read: list[int] = []
    usual = Corpus._documents_in

    def counted(self: Corpus, *how: object) -> object:
        for item in usual(self, *how):  # type: ignore[arg-type]
            read.append(1)
            yield item

    monkeypatch.setattr(Corpus, "_documents_in", counted)
    with Corpus(path) as corpus:
        assert not corpus.language_warning
    assert len(read) < 200


def test_a_broken_file_is_told_when_it_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", '{"text": "One."}\n{broken\n')
    with Corpus(path) as corpus:
        assert corpus.language_warning == ""
