"""The card of distilled vectors: what a person wants to know before using them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

from limbeck.distillation.lacking import lacking_told

if TYPE_CHECKING:
    from limbeck.distillation.distilled import DistilledVectors

BASELINE = "No teacher had a part in it: {} trained on the text alone."
METHOD_TEXTS = {
    "word": "Each vector is what the teacher gives for the word read alone{special}.",
    "frame": "Each vector is what the teacher gives for the word in {frames}.",
    "frames": "Each vector is the mean of what the teacher gives for whole sentences that say nothing but the word: "
    "{frames}.",
    "average": "Each vector is the {contexts} over all occurrences of the word in the text.",
    "contexts": "Each vector is the mean of the texts that the word occurs in.",
    "principal": "Each vector is the first principal component (uncentered, oriented to the mean) of up to "
    "{max_contexts} occurrences of the word in the text, chosen by hash.",
    "best": "Each vector puts together what the teacher makes of {views}.{cut_up}{neighbours}{sentences}",
    "x2static": "Each vector was trained towards the teacher's vectors of the sentences that the word stands in, and "
    "away from those of others (X2Static, Gupta & Jaggi 2021).",
    "regression": "The vectors were trained so that their weighted mean over a sentence is the teacher's vector of it.",
    "sent2vec": BASELINE.format("Sent2Vec's objective, a word and the n-grams around it,"),
    "skipgram": BASELINE.format("skip-gram,"),
    "cbow": BASELINE.format("CBOW,"),
    "skipgram-ngrams": BASELINE.format("skip-gram with character n-grams,"),
    "cbow-ngrams": BASELINE.format("CBOW with character n-grams,"),
}
VIEWS = {  #: of the method best, by the setting that is its weight
    "frames": "the word in sentences about nothing else",
    "average": "the word in its contexts",
    "contexts": "the texts that it occurs in",
}
ORIGINS = {
    "corpus": "made of the word's occurrences in the text",
    "frame": "from the word in the frame, without the text",
    "frames": "from sentences that say nothing but the word, and its letters if the tokenizer cuts it up",
    "pieces": "from the mean of the word's pieces, each read alone, without the text",
    "alone": "from the word read alone, without the text",
    "ngrams": "made of the word's character n-grams",
}
STEPS = {
    "unseen": "{words:,} words that the text does not have were brought into the space of the others from {origin}, by "
    "a ridge regression fitted on {fitted_on:,} that it has (it explains {explained:.0%} of the variance of words left "
    "out)",
    "repair": "repaired: {method}",
    "pca": "{of} dimensions reduced to {dim} by principal components ({variance:.1%} of the variance)",
    "weighting": "**weighted by frequency** (SIF, a/(a + p), a = {a:g}): do not weight again when averaging words",
}


def card(made: DistilledVectors, *, dtype: str) -> str:
    """README.md in Markdown."""
    about, settings = made.record, made.record.get("settings", {})
    lines = [
        "---",
        "library_name: model2vec",
        "tags: [static-embeddings, word-vectors, limbeck]",
        "---",
        "",
        f"# {title(made)}",
        "",
        f"{number_of(len(made))} × {made.dim} dimensions ({dtype}), made with limbeck "
        f"{about.get('versions', {}).get('limbeck', '')}".rstrip()
        + ".",
        "",
        method_text(made, settings),
        "",
        *own_settings_of(about),
        "## Where they come from",
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in facts(made).items()),
        "",
        "| vectors | |",
        "|---|---|",
    ]
    lines += [
        f"| {number:,} | {ORIGINS.get(origin, origin)} |" for origin, number in Counter(made.origins).most_common()
    ]
    if left_out := about.get("left_out"):
        number = sum(left_out.values())
        lines += ["", f"{number_of(number)} {'has' if number == 1 else 'have'} no vector{lacking_told(about)}."]
    if dropped := about.get("counts", {}).get("dropped"):
        lines += ["", "Of the text was left out: " + told(dropped) + "."]
    if steps := about.get("finishing"):
        lines += ["", "Afterwards: " + "; ".join(map(step_text, steps)) + "."]
    lines += [line for told in warnings_of(about.get("text")) for line in ("", told[:1].upper() + told[1:])]
    lines += [line for note in about.get("notes") or () for line in ("", note[:1].upper() + note[1:])]
    lines += ["", "## Scores", "", *scores_of(about.get("scores") or []), ""]
    lines += ["## Licence", "", licences(about), "", *use(about)]
    return "\n".join(lines)


def number_of(words: int) -> str:
    """So many words, in words."""
    return f"{words:,} word{'' if words == 1 else 's'}"


def source_of(origin: str) -> str:
    """What vectors of an origin come from, in a word or two."""
    return "the word alone" if origin == "alone" else origin


def step_text(step: Mapping[str, Any]) -> str:
    return STEPS[step["step"]].format(**{**step, "origin": source_of(step.get("origin", ""))})


def title(made: DistilledVectors) -> str:
    text = "" if made.record.get("untaught") else f"{made.record.get('teacher', {}).get('name', 'word vectors')}: "
    return text + made.method


def own_settings_of(about: Mapping[str, Any]) -> list[str]:
    """The settings of a method that has some of its own, in a line."""
    own = {name: value for name, value in (about.get("method_settings") or {}).items() if value is not None}
    if not own:
        return []
    return ["Settings: " + ", ".join(f"{name} {value}" for name, value in own.items()) + ".", ""]


def facts(made: DistilledVectors) -> dict[str, str]:
    """Teacher, text and words, by name."""
    about = made.record
    teacher, counts, settings = (about.get(name) or {} for name in ("teacher", "counts", "settings"))
    encoding, text = teacher.get("settings") or {}, about.get("text")
    found = {
        "teacher": str(teacher.get("name")),
        "its fingerprint": str(teacher.get("fingerprint")),
        "layer": made.layer,
        "pieces to words": str(encoding.get("pooling") or ""),
    }
    if about.get("untaught"):
        found = {}
    found["text"] = text_of(text)
    if counts.get("words"):
        read = f"{counts['words']:,} words, {counts.get('texts', 0):,} texts, {counts.get('documents', 0):,} documents"
        lowered = ", lower-cased" if isinstance(text, Mapping) and text.get("lowercase") else ""
        found["read"] = f"{read}; by {about.get('text_unit') or 'sentence'}{lowered}"
        if (about.get("identity") or {}).get("words") is None:
            found["words"] = (
                f"that occur {settings.get('min_count')} times or more, {settings.get('max_words'):,} at most"
            )
        if counts.get("listed") != counts.get("in_the_text"):
            found["words asked for"] = f"{counts['listed']:,}, of which the text has {counts['in_the_text']:,}"
    found["written"] = str(about.get("written", ""))
    return {name: value for name, value in found.items() if value}


def licences(about: Mapping[str, Any]) -> str:
    """What is known of both licences."""
    teacher, text = (about.get("teacher") or {}).get("licence"), about.get("text_licence")
    if about.get("untaught"):
        parts = ["What the licence of the text asks for may hold for vectors made of it too."]
    else:
        parts = ["What the licences of the teacher and the text ask for may hold for vectors made of them too."]
        parts.append(
            f"The teacher's card says: {teacher}."
            if teacher
            else "Of the teacher's licence nothing is known here: look where it came from."
        )
    if about.get("text"):
        parts.append(
            f"The text's is {text}."
            if text
            else "Of the text's licence nothing is known here: look where it came from."
        )
    return " ".join(parts)


def use(about: Mapping[str, Any]) -> list[str]:
    """How five programs load the folder."""
    text = about.get("text")
    language = (text.get("language") if isinstance(text, Mapping) else None) or "en"
    return [
        "## Use",
        "",
        "```python",
        "import limbeck",
        "",
        'vectors = limbeck.StaticVectors.load("this-folder")',
        "word = vectors.words[0]",
        "vectors[word], vectors.most_similar(word)",
        "",
        "from model2vec import StaticModel",
        "",
        'model = StaticModel.from_pretrained("this-folder")',
        "model.encode([word])",
        "",
        "from sentence_transformers import SentenceTransformer",
        "",
        'model = SentenceTransformer("this-folder")',
        "model.encode([word])",
        "",
        "keyed = vectors.to_gensim()  # gensim's KeyedVectors",
        "keyed.most_similar(word)",
        "",
        f'nlp = vectors.to_spacy("{language}")  # a pipeline of spaCy',
        "nlp(word).vector",
        "```",
        "",
        "Files for gensim and spaCy: `limbeck convert this-folder vectors.bin`, then "
        '`KeyedVectors.load_word2vec_format("vectors.bin", binary=True)`; `limbeck convert this-folder pipeline '
        f'--format spacy --language {language}`, then `spacy.load("pipeline")`.',
        "",
        "`words.parquet` has each word's count in the text and how its vector came about; `run.json` every setting.",
        "",
    ]


def method_text(made: DistilledVectors, settings: Mapping[str, Any]) -> str:
    text = METHOD_TEXTS.get(made.method)
    if text is None:
        return str(made.record.get("method_summary", made.method)).capitalize() + "."
    special = ", without special tokens" if not settings.get("special_input", True) else ""
    special += ", special tokens in the mean" if settings.get("special_mean") else ""
    templates = [f"“{template.replace('{}', '…')}”" for template in settings.get("template") or ()]
    frames = " and ".join(filter(None, [", ".join(templates[:-1]), *templates[-1:]]))
    own = made.record.get("method_settings") or {}
    return text.format(
        special=special,
        frames=frames,
        sentences=f" The sentences: {frames}." if own.get("frames") else "",
        views=views_of(own),
        cut_up=cut_up_of(own, made.record.get("cut_up", 0)),
        neighbours=neighbours_of(made.record),
        contexts={"mean": "mean", "min": "least of each coordinate", "max": "greatest of each coordinate"}.get(
            settings.get("over_contexts", "mean"), "mean"
        ),
        max_contexts=settings.get("max_contexts"),
    )


def views_of(own: Mapping[str, Any]) -> str:
    """The views of the method best that count, in words."""
    *others, last = [text for name, text in VIEWS.items() if own.get(name)] or VIEWS.values()
    return f"{', '.join(others)} and {last}" if others else last


def cut_up_of(own: Mapping[str, Any], words: int) -> str:
    """What is done otherwise for words that the teacher's tokenizer cuts up, in a sentence; "" where nothing is."""
    split = own.get("split", 1) if own.get("contexts") else 1
    texts = f"these texts count {'more' if split > 1 else 'less'}" if split != 1 else ""
    letters = "what their letters say of them is added" if own.get("spelling") else ""
    told = " and ".join(filter(None, [texts, letters]))
    return f" Of {number_of(words)} that the teacher's tokenizer cuts up {told}." if told and words else ""


def neighbours_of(about: Mapping[str, Any]) -> str:
    """How far vectors were drawn to their neighbours, in a sentence; "" where they were not."""
    weight = (about.get("method_settings") or {}).get("neighbours")
    if not weight or not (pull := about["neighbours_pull"]):
        return ""
    fewer = f", less than the {weight:g} asked for since there are few words" if pull < weight else ""
    nearest = "Each was then drawn towards the mean of the words nearest to it"
    return f" {nearest}, which counts {pull:.2g} beside the word itself{fewer}."


def text_of(told_text: Any) -> str:
    if not told_text:
        return "none"
    if isinstance(told_text, Mapping):
        paths = told_text.get("paths") or told_text.get("vectors") or told_text.get("format")
        return ", ".join(paths) if isinstance(paths, list) and paths else str(paths)
    return str(told_text)


def warnings_of(told_text: Any) -> list[str]:
    """What a text's record warns of; of several texts' each once."""
    texts = told_text if isinstance(told_text, list) else [told_text]
    found = [text.get("language_warning") for text in texts if isinstance(text, Mapping)]
    return list(dict.fromkeys(filter(None, found)))


def scores_of(scores: list[dict[str, Any]]) -> list[str]:
    if not scores:
        return ["None were taken. `limbeck evaluate this-folder --tasks wordsim --data DIR` takes them."]
    lines = ["On what the vectors cover; the rest is left out.", ""]
    lines += ["| task | | value | 95 % interval | coverage |", "|---|---|---|---|---|"]
    for score in scores:
        value, interval = "undefined", ""
        if isfinite(score["value"]):
            value, interval = f"{score['value']:.3f}", f"{score['low']:.3f} to {score['high']:.3f}"
        lines.append(f"| {score['task']} | {score['metric']} | {value} | {interval} | {score['coverage']:.1%} |")
    return lines


def told(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} {number:,}" for reason, number in counts.items())
