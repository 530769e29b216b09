"""Bags of tokens to sparse unit vectors, by signed feature hashing."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from averaged_perceptron.settings import VOCABULARY


class Example(NamedTuple):
    """A sparse vector x with its label y; buckets and values run side by side, and no value is 0."""

    buckets: tuple[int, ...]
    values: tuple[float, ...]
    label: int


def crc_of(token: int) -> int:
    """The number z behind both hash functions: CRC-32 of `t` and the token in decimal (R3, appendix A, page 4)."""
    return zlib.crc32(f"t{token}".encode("ascii"))


def bucket_of(token: int, bits: int) -> int:
    """h(k) = z mod 2**b (R3, appendix A, page 4)."""
    return crc_of(token) % (1 << bits)


def sign_of(token: int) -> int:
    """xi(k): +1 if bit 31 of z is 0, and -1 otherwise (R3, appendix A, page 4)."""
    return -1 if crc_of(token) >> 31 & 1 else 1


def features(bag: Sequence[int], label: int, bits: int) -> Example:
    """The signed counts of a bag, scaled to unit length: equation (1) (R1, section 3.1, page 1).

    Buckets stand in the order of their first occurrence; those whose sum is zero are dropped. There is no bias.
    """
    counts: dict[int, int] = {}
    for token in bag:
        bucket, sign = _hashed(token, bits)
        counts[bucket] = counts.get(bucket, 0) + sign
    kept = {bucket: count for bucket, count in counts.items() if count}
    length = math.sqrt(sum(count * count for count in kept.values()))
    return Example(tuple(kept), tuple(count / length for count in kept.values()), label)


def buckets_in_use(bits: int) -> int:
    """How many buckets hold at least one token of the vocabulary: table 3 (R28, section 4.5, page 3)."""
    return len({bucket_of(token, bits) for token in range(VOCABULARY)})


@cache
def _hashed(token: int, bits: int) -> tuple[int, int]:
    """Both hash functions at once; kept, because the same tokens come again and again."""
    return bucket_of(token, bits), sign_of(token)
