"""What a finding is: a claim of a paper, the rule that decides it, what was measured, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

from limbeck.papers.estimates import CannotShow, Estimate, Verdict, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from limbeck.papers.results import Reproduction

Kind = Literal["figure", "claim", "table", "question"]
#: in the place of a model's name, where a claim is about all models at once, about the paper's, or about none
TOGETHER, PUBLISHED, MADE = "all models", "published all models", "made points"


class Tried(Protocol):
    """What claims are tried on: a model under its name, measured here or by the paper. Papers know more of theirs.

    family   which of the paper's kinds of model it is like
    account  what was done to it and with which settings, as run.json has it; empty for a paper's own numbers
    """

    @property
    def name(self) -> str: ...
    @property
    def family(self) -> str: ...
    @property
    def layers(self) -> tuple[str, ...]: ...
    @property
    def account(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Judgement:
    """What a rule says of one model.

    why      the verdict in a line, with the numbers that decided it
    numbers  quantity -> number
    words    words, where the claim is about words
    curve    quantity -> a value a layer, where the claim is a figure's curve
    """

    verdict: Verdict
    why: str
    numbers: Mapping[str, Estimate] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    curve: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Rule:
    """When a claim is held: in words, and as a function of a model and of all the models beside it.

    judge     asked of each model: the model, and all of them
    together  in its place for a claim about all models at once, such as a correlation over models
    alone     in its place for a claim about no model, such as one on made points

    A rule without a function is about other findings; see `Paper.last`.
    """

    text: str
    judge: Callable[[Any, Sequence[Any]], Judgement] | None = None
    together: Callable[[Sequence[Any]], Judgement] | None = None
    alone: Callable[[], Judgement] | None = None


def drawn(part: str = "", *, printed: str = "no numbers to judge it by") -> Rule:
    """Of a figure that the paper does not give in numbers: there is nothing that it could be held against.

    part     which the figure is drawn from, and without which it cannot be
    printed  what the paper prints of it
    """

    def judge(model: Any, _: Sequence[Any]) -> Judgement:
        if part:
            model.part(part)
        return Judgement(Verdict.UNSHOWN, f"the paper prints {printed}, so it is only drawn")

    return Rule("the paper printed the figure in numbers", judge)


@dataclass(frozen=True)
class Published:
    """Numbers that a paper printed or shipped, by model, and where they stand."""

    quantity: str
    values: Mapping[str, Any]
    source: str


@dataclass(frozen=True)
class Claim:
    """A row of a paper: a figure, a claim in its text, a table, or a question that it leaves open.

    id         "F1.anisotropic": the row it belongs to and its own name
    text       what is claimed, in one line
    where      in the paper
    rule       None where nothing here can decide it yet; `pending` then says why
    families   of the models it is about; empty for all
    figure     the figure that shows it
    published  what the paper gives for it
    """

    id: str
    kind: Kind
    text: str
    where: str
    rule: Rule | None
    families: tuple[str, ...] = ()
    figure: str = ""
    published: tuple[Published, ...] = ()
    pending: str = ""


@dataclass(frozen=True)
class Finding:
    """A claim, judged.

    models     name of each model measured here that the claim is about -> judgement
    published  the paper's own numbers by the same rule: model -> judgement; empty where it gives none
    """

    claim: Claim
    verdict: Verdict
    why: str
    models: Mapping[str, Judgement] = field(default_factory=dict)
    published: Mapping[str, Judgement] = field(default_factory=dict)


@dataclass(frozen=True)
class Block:
    """A part of a page that only this paper has: its title in findings.md, and what writes it."""

    title: str
    make: Callable[[Reproduction], str]


@dataclass(frozen=True)
class Paper:
    """Everything `limbeck reproduce` knows of a paper; a module a paper has one.

    models   names that are measured unless others are given
    claims   in the order of the paper
    last     claims about the findings before them
    figures  file name -> what draws it from the models measured and the paper's own
    captions of the figures
    undrawn  file name of a figure -> what says why it is not drawn of some models; "" where it is
    blocks   name -> a part of the page of this paper's own; "models" says what was tried, and how
    tables   file name of a figure -> what writes the numbers that a page lists beside it
    numbers  the paper's own numbers, as subjects
    is_own   whether a model measured here is one of the paper's, so that its numbers can be compared
    """

    id: str
    title: str
    citation: str
    models: tuple[str, ...]
    claims: tuple[Claim, ...]
    figures: Mapping[str, Callable[[Sequence[Any], Sequence[Any]], Figure]]
    captions: Mapping[str, str]
    blocks: Mapping[str, Block]
    undrawn: Mapping[str, Callable[[Sequence[Any]], str]] = field(default_factory=dict)
    tables: Mapping[str, Callable[[Reproduction], str]] = field(default_factory=dict)
    numbers: tuple[Tried, ...] = ()
    is_own: Callable[[Any], bool] = lambda subject: False
    last: tuple[Callable[[Sequence[Finding], Sequence[Any]], Finding], ...] = ()


def why_undrawn(paper: Paper, figure: str, subjects: Sequence[Any]) -> str:
    """Why a figure of a paper is not drawn of these models; "" where it is."""
    return paper.undrawn[figure](subjects) if figure in paper.undrawn else ""


def judge_all(paper: Paper, subjects: Sequence[Tried]) -> list[Finding]:
    """Every claim of a paper on these models."""
    findings = [judge(claim, subjects, paper.numbers) for claim in paper.claims]
    for about in paper.last:
        findings.append(about(findings, subjects))
    return findings


def judge(claim: Claim, subjects: Sequence[Tried], numbers: Sequence[Tried] = ()) -> Finding:
    """One claim on these models, and on the paper's own numbers where they are enough for the rule."""
    rule = claim.rule
    if rule is not None and rule.alone is not None:
        found = rule.alone()
        return Finding(claim, found.verdict, found.why, {MADE: found})
    if rule is not None and rule.together is not None:
        models = _judge_together(rule.together, about(claim, subjects), name=TOGETHER)
        published = _judge_together(rule.together, about(claim, numbers), name=PUBLISHED)
    elif rule is not None and rule.judge is not None:
        ask = rule.judge
        models = {one.name: _judged(partial(ask, one, subjects)) for one in about(claim, subjects)}
        published = {one.name: _judged(partial(ask, one, numbers)) for one in about(claim, numbers)}
    else:
        return Finding(claim, Verdict.UNSHOWN, claim.pending)
    published = {name: found for name, found in published.items() if found.verdict is not Verdict.UNSHOWN}
    if not models:
        why = f"no model of the kind of {' or '.join(claim.families)}"
        return Finding(claim, Verdict.UNSHOWN, why, models, published)
    return Finding(claim, every(found.verdict for found in models.values()), _told(models), models, published)


def about(claim: Claim, subjects: Sequence[Tried]) -> list[Tried]:
    """Those that a claim is about."""
    return [one for one in subjects if not claim.families or one.family in claim.families]


def _judge_together(
    ask: Callable[[Sequence[Any]], Judgement], subjects: Sequence[Tried], *, name: str
) -> dict[str, Judgement]:
    return {name: _judged(partial(ask, subjects))} if subjects else {}


def _judged(ask: Callable[[], Judgement]) -> Judgement:
    try:
        return ask()
    except CannotShow as reason:
        return Judgement(Verdict.UNSHOWN, str(reason))


def _told(models: Mapping[str, Judgement]) -> str:
    """The reasons of all models in a line, the same one once; verdicts are named where they differ."""
    verdicts = {found.verdict for found in models.values()}
    if len(models) == 1:
        return next(iter(models.values())).why
    names: dict[tuple[Verdict, str], list[str]] = {}
    for name, found in models.items():
        names.setdefault((found.verdict, found.why), []).append(name)
    return "; ".join(
        f"{spoken(alike)}{f' {verdict}' if len(verdicts) > 1 else ''}: {why}" for (verdict, why), alike in names.items()
    )


def spoken(names: Sequence[str]) -> str:
    """Names as one says them.

    >>> spoken(["bert"]), spoken(["bert", "gpt2", "elmo"])
    ('bert', 'bert, gpt2 and elmo')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
