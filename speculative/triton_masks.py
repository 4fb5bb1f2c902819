"""The Triton kernel of `device_masks`; imported only where Triton and a CUDA device are there."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

__all__ = ["mask_logits_in_triton"]

_BLOCK = 4096  # tokens a program


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def _mask_kernel(logits, masks, n_rows, logits_stride, masks_stride, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0).to(tl.int64)
    tokens = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = tokens < n_rows
    words = tl.load(masks + row * masks_stride + (tokens >> 5), mask=inside, other=0)
    illegal = ((words >> (tokens & 31)) & 1) == 0
    tl.store(logits + row * logits_stride + tokens, -float("inf"), mask=inside & illegal)


def mask_logits_in_triton(logits: Any, masks: Any) -> None:
    """See `device_masks.mask_logits`; legal scores are not touched."""
    n, n_rows = logits.shape
    if n:
        grid = (n, triton.cdiv(n_rows, _BLOCK))
        _mask_kernel[grid](logits, masks, n_rows, logits.stride(0), masks.stride(0), BLOCK=_BLOCK)
