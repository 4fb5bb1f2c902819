"""Packed masks applied to logits where the logits are: one transfer for all rows, no copy of a row to the host.

A mask is a bit a token, so 129k tokens are 16 kB. Rows go through one pinned buffer and are sent without waiting; on
CUDA a Triton kernel then writes the illegal scores, elsewhere (or without Triton) bits are unpacked by shifts.
"""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["MaskSender", "mask_logits", "mask_logits_in_torch"]

_log = logging.getLogger(__name__)
Mask = npt.NDArray[np.uint32]


class MaskSender:
    """Sends packed masks to one device. Two buffers take turns, so that filling one does not wait for the other."""

    def __init__(self, device: Any, n_words: int) -> None:
        """Args:
        device: the logits' torch device.
        n_words: words of a mask, ceil(rows of the model's output / 32).
        """
        self._device, self._n_words = device, n_words
        self._is_cuda = device.type == "cuda"
        self._buffers: list[Any] = [None, None]
        self._sent: list[Any] = [None, None]  # events: the transfer out of a buffer has ended
        self._turn = 0

    def send(self, masks: Sequence[Mask] | Mask) -> Any:
        """Return int32[n, n_words] on the device; the transfer may be under way in the current stream."""
        import torch

        self._turn ^= 1
        buffer = self._buffers[self._turn]
        if buffer is None or len(buffer) < len(masks):
            n = max(len(masks), 8)
            buffer = torch.empty((n, self._n_words), dtype=torch.int32, pin_memory=self._is_cuda)
            self._buffers[self._turn], self._sent[self._turn] = buffer, None
        if self._sent[self._turn] is not None:
            self._sent[self._turn].synchronize()
        host = buffer.numpy().view(np.uint32)
        for row, mask in enumerate(masks):
            host[row] = mask
        if not self._is_cuda:
            return buffer[: len(masks)].to(self._device, copy=True)
        moved = buffer[: len(masks)].to(self._device, non_blocking=True)
        event = torch.cuda.Event()
        event.record(torch.cuda.current_stream(self._device))
        self._sent[self._turn] = event
        return moved


def mask_logits(logits: Any, masks: Any) -> None:
    """Write minus infinity over the scores of illegal tokens, in place.

    Args:
        logits: float[n, n_rows], on any device; the last dimension is contiguous.
        masks: int32[n, ceil(n_rows / 32)] on the same device, token t is bit t & 31 of word t >> 5.
    """
    if logits.is_cuda and _has_triton():
        from speculative.triton_masks import mask_logits_in_triton

        mask_logits_in_triton(logits, masks)
    else:
        mask_logits_in_torch(logits, masks)


def mask_logits_in_torch(logits: Any, masks: Any) -> None:
    """The same with torch's own operations."""
    bits = (masks[:, :, None] >> _shifts(masks.device)) & 1
    legal = bits.reshape(len(masks), -1)[:, : logits.shape[-1]]
    logits.masked_fill_(legal == 0, -float("inf"))


@lru_cache(maxsize=16)
def _shifts(device: Any) -> Any:
    import torch

    return torch.arange(32, dtype=torch.int32, device=device)


@lru_cache(maxsize=1)
def _has_triton() -> bool:
    found = importlib.util.find_spec("triton") is not None
    if not found:
        _log.info("triton is not installed; masks are applied by torch operations")
    return found
