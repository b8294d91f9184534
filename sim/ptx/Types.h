// The data types PTX names in an opcode, with their width and class.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::sim::ptx {

// X(enumerator, spelling, bits, class): class is b (bits), u, s, f or p
// (predicate). Packed types carry the width of the whole register.
#define TESSERA_SIM_TYPES(X)                                                   \
  X(None, "", 0, 'b')                                                          \
  X(Pred, "pred", 1, 'p')                                                      \
  X(B1, "b1", 1, 'b')                                                          \
  X(U4, "u4", 4, 'u')                                                          \
  X(S4, "s4", 4, 's')                                                          \
  X(B8, "b8", 8, 'b')                                                          \
  X(U8, "u8", 8, 'u')                                                          \
  X(S8, "s8", 8, 's')                                                          \
  X(B16, "b16", 16, 'b')                                                       \
  X(U16, "u16", 16, 'u')                                                       \
  X(S16, "s16", 16, 's')                                                       \
  X(F16, "f16", 16, 'f')                                                       \
  X(BF16, "bf16", 16, 'f')                                                     \
  X(B32, "b32", 32, 'b')                                                       \
  X(U32, "u32", 32, 'u')                                                       \
  X(S32, "s32", 32, 's')                                                       \
  X(F32, "f32", 32, 'f')                                                       \
  X(TF32, "tf32", 32, 'f')                                                     \
  X(F16x2, "f16x2", 32, 'f')                                                   \
  X(BF16x2, "bf16x2", 32, 'f')                                                 \
  X(U16x2, "u16x2", 32, 'u')                                                   \
  X(S16x2, "s16x2", 32, 's')                                                   \
  X(B64, "b64", 64, 'b')                                                       \
  X(U64, "u64", 64, 'u')                                                       \
  X(S64, "s64", 64, 's')                                                       \
  X(F64, "f64", 64, 'f')                                                       \
  X(F32x2, "f32x2", 64, 'f')                                                   \
  X(B128, "b128", 128, 'b')                                                    \
  X(B1024, "b1024", 1024, 'b')                                                 \
  X(E4M3, "e4m3", 8, 'f')                                                      \
  X(E5M2, "e5m2", 8, 'f')                                                      \
  X(E2M3, "e2m3", 6, 'f')                                                      \
  X(E3M2, "e3m2", 6, 'f')                                                      \
  X(E2M1, "e2m1", 4, 'f')                                                      \
  X(UE8M0, "ue8m0", 8, 'f')                                                    \
  X(UE4M3, "ue4m3", 8, 'f')                                                    \
  X(E4M3x2, "e4m3x2", 16, 'f')                                                 \
  X(E5M2x2, "e5m2x2", 16, 'f')                                                 \
  X(E2M3x2, "e2m3x2", 16, 'f')                                                 \
  X(E3M2x2, "e3m2x2", 16, 'f')                                                 \
  X(E2M1x2, "e2m1x2", 8, 'f')                                                  \
  X(UE8M0x2, "ue8m0x2", 16, 'f')                                               \
  X(E4M3x4, "e4m3x4", 32, 'f')                                                 \
  X(E5M2x4, "e5m2x4", 32, 'f')                                                 \
  X(E2M3x4, "e2m3x4", 32, 'f')                                                 \
  X(E3M2x4, "e3m2x4", 32, 'f')                                                 \
  X(E2M1x4, "e2m1x4", 16, 'f')                                                 \
  X(B8x16, "b8x16", 128, 'b')                                                  \
  X(B6x16p32, "b6x16_p32", 128, 'b')                                           \
  X(B4x16p64, "b4x16_p64", 128, 'b')                                           \
  X(TexRef, "texref", 64, 'b')                                                 \
  X(SurfRef, "surfref", 64, 'b')                                               \
  X(SamplerRef, "samplerref", 64, 'b')

enum class Type : uint8_t {
#define X(name, text, bits, cls) name,
  TESSERA_SIM_TYPES(X)
#undef X
};

std::string_view typeName(Type type);
unsigned typeBits(Type type);
char typeClass(Type type);
/// The type spelled `text` (without its dot).
std::optional<Type> parseType(std::string_view text);

inline unsigned typeBytes(Type type) { return (typeBits(type) + 7) / 8; }
inline bool isFloat(Type type) { return typeClass(type) == 'f'; }
inline bool isSigned(Type type) { return typeClass(type) == 's'; }

enum class Space : uint8_t {
  Generic,
  Reg,
  Global,
  Shared,
  SharedCluster,
  Local,
  Const,
  Param,
  Tensor
};
std::string_view spaceName(Space space);

} // namespace tessera::sim::ptx
