"""LZF decompression, the codec of `DATA binary_compressed` in PCD files (LibLZF has no maintained wheel for every platform)."""

from __future__ import annotations


def decompress(data: bytes, size: int) -> bytes:
    """The `size` bytes that `data` stands for.

    A control byte below 32 announces that many bytes plus one to take as they are; otherwise its upper three bits are a
    length (7: one more byte of length follows) and its lower five, with the next byte, a distance back into the output.

    Raises:
        ValueError: the data is damaged, or does not give exactly `size` bytes.
    """
    out = bytearray()
    position, end = 0, len(data)
    try:
        while position < end:
            control = data[position]
            position += 1
            if control < 32:
                after = position + control + 1
                out += data[position:after]
                position = after
                continue
            length = (control >> 5) + 2
            if length == 9:
                length += data[position]
                position += 1
            start = len(out) - ((control & 31) << 8) - data[position] - 1
            position += 1
            if start < 0:
                raise ValueError("a reference points before the start of the data")
            if start + length <= len(out):
                out += out[start : start + length]
            else:
                period = out[start:]
                out += (period * (length // len(period) + 1))[:length]
    except IndexError:
        raise ValueError("the data ends within an instruction") from None
    if len(out) != size:
        raise ValueError(f"gives {len(out)} bytes, {size} were announced")
    return bytes(out)
