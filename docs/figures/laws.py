"""Draw laws.png: one prompt under the three laws of tokenization, by the embedded model. `python docs/figures/laws.py`.

Each token is a box as wide as its text; red ones are not the tokenizer's own. Below hangs -log of the token's
probability under the unconstrained model, in nats.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import domino_py as domino
from domino_py.prompts import prompts_to_ids
from speculative.loop import score
from tokenizer_align.vocabulary import Vocabulary

LAWS = ("any", "aligned", "canonical")
PROMPT = [{"role": "user", "content": "The lamp came broken. Give action and score as JSON."}]
CONSTRAINT = domino.json_schema(
    {
        "type": "object",
        "properties": {
            "action": {"enum": ["approve", "reject", "escalate"]},
            "score": {"enum": ["low", "mid", "high"]},
        },
        "required": ["action", "score"],
        "additionalProperties": False,
    },
    whitespace="compact",
)
OWN, OTHER, BAR = "#cfe3f5", "#f4a6a0", "#55606b"


@dataclass(frozen=True, slots=True)
class Output:
    """What one law gave: the texts of the tokens, their costs in nats, which are not the tokenizer's own, the gap."""

    law: str
    tokens: list[str]
    costs: list[float]
    noncanonical: tuple[int, ...]
    gap: float


def outputs(model: Any, tokenizer: Any) -> list[Output]:
    vocabulary = Vocabulary.from_tokenizer(tokenizer, model=model)
    ids, _ = prompts_to_ids(PROMPT, tokenizer, vocabulary.n_rows)
    found = []
    for law in LAWS:
        result = domino.generate(
            model, tokenizer, PROMPT, CONSTRAINT, tokenization=law, measure="full", do_sample=False
        )
        report = result.report
        costs = [-logprob for logprob in score(model, ids[0], result.token_ids)]
        tokens = [(vocabulary.token_bytes[token] or b"").decode("utf-8", "replace") for token in result.token_ids]
        found.append(Output(law, tokens, costs, report.noncanonical_at, report.alignment_gap))
        print(f"{law}: {tokens}, {sum(costs):.2f} nats, gap {report.alignment_gap:.2f}")
    return found


def draw(found: list[Output], path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    figure = Figure(figsize=(11, 6.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.subplots(len(found), 1)
    deepest = max(max(one.costs) for one in found)
    widest = max(sum(len(token) + 0.6 for token in one.tokens) for one in found)
    for axis, one in zip(axes, found, strict=True):
        left = 0.0
        for index, (token, cost) in enumerate(zip(one.tokens, one.costs, strict=True)):
            width = len(token) + 0.4
            color = OTHER if index in one.noncanonical else OWN
            axis.add_patch(Rectangle((left, 0.6), width, 2.6, facecolor=color, edgecolor="white"))
            axis.text(left + width / 2, 1.9, token.replace(" ", "␣"), ha="center", va="center", family="monospace")
            axis.add_patch(Rectangle((left, 0), width, -cost, facecolor=BAR, edgecolor="white"))
            if cost >= 1:
                axis.text(left + width / 2, -cost - 0.3, f"{cost:.1f}", ha="center", va="top", fontsize=8)
            left += width + 0.2
        axis.set_xlim(-0.3, widest)
        axis.set_ylim(-deepest - 2.5, 3.6)
        axis.set_yticks([0, -5, -10], ["0", "5", "10"])
        axis.set_xticks([])
        axis.set_ylabel("nats")
        for side in ("top", "right", "bottom"):
            axis.spines[side].set_visible(False)
        title = f'tokenization="{one.law}": {len(one.noncanonical)} of {len(one.tokens)} tokens non-canonical'
        axis.set_title(f"{title}, {sum(one.costs):.1f} nats, alignment gap {one.gap:.1f}", loc="left", fontsize=10)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    draw(outputs(*domino.load_default()), Path(__file__).with_suffix(".png"))
