"""In which precision networks predict, and whether the processor has it."""

from __future__ import annotations

import torch

AUTOCAST = {
    **dict.fromkeys(("16-mixed", "16"), torch.float16),
    **dict.fromkeys(("bf16-mixed", "bf16"), torch.bfloat16),
}
"""Of the products alone; weights stay as they are."""

WHOLE = {"16-true": torch.float16, "bf16-true": torch.bfloat16}
"""Of weights, inputs and products."""


def remark_on_precision(precision: str, accelerator: str) -> str:
    """Say in a sentence that a precision is slow here, as the processor has no instructions for it; else nothing.

    Parameters
    ----------
    precision
        As Lightning calls it.
    accelerator
        `cpu`, or what a GPU is called; of a GPU nothing is said.
    """
    asked = AUTOCAST.get(precision) or WHOLE.get(precision)
    if accelerator != "cpu" or asked is None:
        return ""
    word = "bf16" if asked == torch.bfloat16 else "fp16"
    there = list_instructions()
    if not there or any(word in name for name in there):
        return ""
    return (
        f"this processor has no instructions for {word}: with trainer.precision or inference.precision={precision} "
        "results are as asked, and take longer than in 32 bits"
    )


def list_instructions() -> list[str]:
    """List the processor's sets of instructions by torch's names of them; none where this torch cannot tell."""
    tell = getattr(torch.cpu, "get_capabilities", dict)
    return [name for name, there in tell().items() if there is True]
