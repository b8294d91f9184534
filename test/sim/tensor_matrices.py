# Matrices as tcgen05 wants them, by CuTe's layout algebra; products in float64.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A second implementation of every layout: shared memory from the canonical layouts of PTX ISA 9.7.16.3.3, tensor memory
from CUTLASS's fragments (mma_traits_sm100_frag.hpp), whose virtual index has the lane in its low seven bits."""

import ml_dtypes
import numpy as np

from test_wgmma import cute

TYPES = {"f16": (np.float16, 16, 0), "bf16": (ml_dtypes.bfloat16, 16, 1), "tf32": (np.float32, 32, 2),
         "e4m3": (ml_dtypes.float8_e4m3fn, 8, 0), "e5m2": (ml_dtypes.float8_e5m2, 8, 1),
         "e2m3": (ml_dtypes.float6_e2m3fn, 6, 3), "e3m2": (ml_dtypes.float6_e3m2fn, 6, 4),
         "e2m1": (ml_dtypes.float4_e2m1fn, 4, 5), "u8": (np.uint8, 8, 0), "s8": (np.int8, 8, 1)}
K = {"f16": 16, "tf32": 8, "f8f6f4": 32, "i8": 32, "mxf8f6f4": 32, "mxf4": 64, "mxf4nvf4": 64}
SWIZZLES = {"none": 0, "128x32": 1, "128": 2, "64": 4, "32": 6}


def raw(matrix):
    """Bits of the elements."""
    return np.ascontiguousarray(matrix).view({1: np.uint8, 2: np.uint16, 4: np.uint32}[matrix.dtype.itemsize])


def chunk_address(swizzle, k_major, rows, chunks, per_chunk, start, leading, stride):
    """Byte addresses of 16-byte chunks: [rows][chunks of K] or, MN-major, [K][chunks of rows]."""
    w = {"none": 1, "32": 2, "64": 4, "128": 8, "128x32": 8}[swizzle]
    lbo, sbo = leading // 16, stride // 16
    if k_major:
        mn, k = ((8, rows // 8), (w, sbo)), ((chunks, 1), (lbo if swizzle == "none" else 1, 0))
        at = cute(*mn, np.arange(rows))[:, None] + cute(*k, np.arange(chunks))[None, :]
    else:
        deep = 4 if swizzle == "128x32" else 8
        depth, columns = rows, chunks  # of K; of the chunks along MN
        if swizzle == "none":
            mn, k = ((1, columns), (1, sbo)), ((8, depth // 8), (1, lbo))
        else:
            mn, k = ((w, max(columns // w, 1)), (1, lbo)), ((deep, depth // deep), (w, sbo))
        at = cute(*k, np.arange(depth))[:, None] + cute(*mn, np.arange(columns))[None, :]
    at = start + 16 * at
    if swizzle == "128x32":
        return at ^ ((at >> 7 & 3) << 5)  # Swizzle<2, 5, 2>
    bits = {"none": 0, "32": 1, "64": 2, "128": 3}[swizzle]
    return at ^ ((at >> 7 & (1 << bits) - 1) << 4)  # Swizzle<bits, 4, 3>


def chunks_of(matrix, bits, packed):
    """The last dimension in chunks of 16 bytes; 4 and 6 bits take the first 8 and 12 of them unless they are packed."""
    r = raw(matrix)
    if bits >= 8:
        return r.view(np.uint8).reshape(len(r), -1, 16)
    each = 32 if packed else 16
    lines = ((r[..., None] >> np.arange(bits)) & 1).reshape(len(r), -1, each * bits)
    data = np.packbits(lines.astype(np.uint8), axis=-1, bitorder="little")
    out = np.zeros((*data.shape[:2], 16), np.uint8)
    out[..., :data.shape[-1]] = data
    return out


def place(image, matrix, bits, swizzle, k_major, start, packed, gap):
    """Writes a [rows][K] matrix; its descriptor and the bytes it takes."""
    chunks = chunks_of(matrix if k_major else np.ascontiguousarray(matrix.T), bits, packed)
    lines, columns = chunks.shape[:2]
    w = {"none": 1, "32": 2, "64": 4, "128": 8, "128x32": 8}[swizzle]
    if k_major:
        leading, stride = (128, columns * 128 + gap * 128) if swizzle == "none" else (16, 128 * w * (1 + gap))
        if swizzle == "none" and gap:
            leading, stride = lines // 8 * 128, 128
        total = max(lines // 8 * stride, columns * leading if swizzle == "none" else 0)
    elif swizzle == "none":
        leading, stride = columns * 128 + gap * 128, 128
        total = lines // 8 * leading
    else:
        deep = 4 if swizzle == "128x32" else 8
        stride = 16 * w * deep
        leading = lines // deep * stride + gap * stride
        total = max(columns // w, 1) * leading
    at = chunk_address(swizzle, k_major, lines, columns, None, start, leading, stride)
    for b in range(16):
        image[at + b] = chunks[..., b]

    def field(x):
        return (x & 0x3FFFF) >> 4
    word = field(start) | field(leading) << 16 | field(stride) << 32 | 1 << 46 | SWIZZLES[swizzle] << 61
    return word, (total + 1023) // 1024 * 1024


def d_index(m, n, ws):
    """[m][n] lanes and columns of D; CuTe's tmem_frg and tmem_frg_ws."""
    layout = {(64, False): (((16, 4), (1, 32)), (n, 128)), (64, True): ((64, 1), ((n // 2, 2), (128, 64))),
              (32, True): ((32, 1), ((n // 4, 4), (128, 32)))}.get((m, ws), ((128, 1), (n, 128)))
    v = cute(*layout[0], np.arange(m))[:, None] + cute(*layout[1], np.arange(n))[None, :]
    return v % 128, v // 128


def place_operand(memory, matrix, bits, packed, m, address):
    """A in tensor memory: packed along the columns, 4 and 6 bits in bytes."""
    lane, _ = d_index(m, 8, False)
    r = raw(matrix)
    if bits < 8 and not packed:
        r = r << 2 if bits == 4 else r
    if bits == 4 and packed:
        r = (r[:, ::2] | r[:, 1::2] << 4)
    data = np.ascontiguousarray(r).view(np.uint8)
    flat = memory.view(np.uint8)
    for row in range(m):
        start = 4 * (address & 0xFFFF)
        flat[(address >> 16) + lane[row, 0], start:start + data.shape[1]] = data[row]


def place_scales(memory, scales, column, first):
    """[rows][factors] bytes; CuTe's tmem_sf_frg: ((32, rows/32), 4), factors: ((1, 512), 32), 128."""
    rows, count = scales.shape
    flat = memory.view(np.uint8)
    for quarter in range(4):
        v = cute((32, max(rows // 32, 1)), (1, 512), np.arange(rows))[:, None] + 32 * quarter + 128 * np.arange(count)[None, :]
        flat[v % 128, 4 * column + first + v // 128] = scales


def place_metadata(memory, codes, kind, m, ws, column):
    """[m][chunks] of four bits; CuTe's tmem_e_frg and tmem_e_frg_ws, whose elements are bits of a lane."""
    copies, chunks = {128: 1, 64: 2, 32: 4}[m], codes.shape[1]
    memory[:, column:column + 2] = 0
    for copy in range(copies):
        for chunk in range(chunks):
            if kind in ("f16", "tf32"):
                # 16 bits of 16-bit types, 8 pairs of bits of tf32; k counts in bits of a chunk of four
                v = cute((8, 2, m // 16), (1, 2048, 16), np.arange(m)) + 128 * (4 * (chunk % 4)) + 8 * (chunk // 4)
            else:
                v = np.arange(m) + 128 * 4 * chunk
            v = v + copy * m
            lane, bit = v % 128, v // 128
            np.bitwise_or.at(memory, (lane, column + bit // 32), codes[:, chunk].astype(np.uint32) << (bit % 32).astype(np.uint32))


def sparse(matrix, kind, rng):
    """Zeroes half of a matrix; what is kept, and the four-bit codes."""
    m, k = matrix.shape
    if kind == "tf32":
        where = rng.integers(0, 2, (m, k // 2))
        kept = np.take_along_axis(matrix.reshape(m, -1, 2), where[..., None], 2)[..., 0]
        whole = np.zeros((m, k // 2, 2))
        np.put_along_axis(whole, where[..., None], kept.astype(np.float64)[..., None], 2)
        return whole.reshape(m, k), kept, np.where(where, 0xE, 0x4)
    wide = 2 if kind in ("mxf4", "mxf4nvf4") else 1
    blocks = matrix.reshape(m, -1, 4, wide)
    pairs = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])[rng.integers(0, 6, blocks.shape[:2])]
    kept = np.take_along_axis(blocks, pairs[..., None], 2)
    whole = np.zeros(blocks.shape)
    np.put_along_axis(whole, pairs[..., None], kept.astype(np.float64), 2)
    return whole.reshape(m, k), np.ascontiguousarray(kept.reshape(m, k // 2)), pairs[..., 0] | pairs[..., 1] << 2


def zero_columns(word, m, n):
    """PTX ISA 9.7.16.4.3, by drawing the runs."""
    if not word >> 39 & 1:
        return np.zeros(n, bool)
    parts = {32: 4, 64: 2}.get(m, 1)
    zeros, used = (word >> 40 & 255) + 1, (word >> 48 & 255) + 1
    mask = []
    for part in range(parts):
        runs, value = [], word >> 32 + part & 1
        while len(runs) < n // parts + 256:
            runs += [value] * (zeros if value else used)
            value ^= 1
        start = word >> 8 * part & 255
        mask += runs[start:start + n // parts]
    return np.array(mask, bool)
