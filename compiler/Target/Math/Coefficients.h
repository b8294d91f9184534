// Constants of the math expansions, fitted by tools/math/fit_polynomials.py.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generated: do not edit. Polynomials list the lowest power first.

#ifndef TESSERA_TARGET_MATH_COEFFICIENTS_H
#define TESSERA_TARGET_MATH_COEFFICIENTS_H

namespace tessera::target::coefficients {
// clang-format off

/// e^r = 1 + r + r^2 q(r), |r| <= ln2/2; error 2^-26.13
inline constexpr float expTail[] = {
    0x1p-1f,
    0x1.5554bp-3f,
    0x1.5554dap-5f,
    0x1.1227acp-7f,
    0x1.6d5f66p-10f};

/// ln2 = sum, for use with fma
inline constexpr float ln2Fma[] = {
    0x1.62e43p-1f,
    -0x1.05c61p-29f};

/// 1/ln2 = sum
inline constexpr float log2e[] = {
    0x1.715476p+0f,
    0x1.4ae0cp-26f};

/// 2/ln2 = sum
inline constexpr float twoLog2e[] = {
    0x1.715476p+1f,
    0x1.4ae0cp-25f};

/// 2^r, |r| <= 1/2; error 2^-28.31
inline constexpr float exp2Poly[] = {
    0x1p+0f,
    0x1.62e43p-1f,
    0x1.ebfbdcp-3f,
    0x1.c6af7ap-5f,
    0x1.3b2ddap-7f,
    0x1.5f0986p-10f,
    0x1.4173b2p-13f};

/// 2^r, 0 <= r <= 1, to 13 bits; error 2^-18.4
inline constexpr float exp2Weight[] = {
    0x1p+0f,
    0x1.62d6c6p-1f,
    0x1.ee2456p-3f,
    0x1.abf83cp-5f,
    0x1.b7f79ep-7f};

/// log(1+f) = f + f^2 R(f), |f| <= 1/3; error 2^-27.57
inline constexpr float logTail[] = {
    -0x1p-1f,
    0x1.55550cp-2f,
    -0x1.fffe5ep-3f,
    0x1.99ce34p-3f,
    -0x1.55b7ecp-3f,
    0x1.1ef262p-3f,
    -0x1.f03bdcp-4f,
    0x1.1defd8p-3f,
    -0x1.0e2accp-3f};

/// log2(1+f) = f/ln2 + f^2 R(f), |f| <= 1/3; error 2^-27.12
inline constexpr float log2Tail[] = {
    -0x1.715478p-1f,
    0x1.ec702ap-2f,
    -0x1.71527p-2f,
    0x1.279e8p-2f,
    -0x1.ed23cep-3f,
    0x1.9dc85p-3f,
    -0x1.64a78p-3f,
    0x1.9d5d68p-3f,
    -0x1.89f3d6p-3f};

/// sin(r) = r + r^3 S(r^2), |r| <= pi/4; error 2^-27.98
inline constexpr float sinTail[] = {
    -0x1.555546p-3f,
    0x1.110776p-7f,
    -0x1.995282p-13f};

/// cos(r) = 1 - r^2/2 + r^4 C(r^2), |r| <= pi/4; error 2^-33.13
inline constexpr float cosTail[] = {
    0x1.55554ap-5f,
    -0x1.6c0c1ap-10f,
    0x1.99e0eep-16f};

/// 2/pi
inline constexpr float twoOverPi[] = {
    0x1.45f306p-1f};

/// pi/2 = sum
inline constexpr float piOver2[] = {
    0x1.921fb6p+0f,
    -0x1.777a5cp-25f};

/// pi/2 = sum; the second part has 10 bits
inline constexpr float piOver2Parts[] = {
    0x1.921fb6p+0f,
    -0x1.778p-25f,
    0x1.68c234p-39f};

/// tanh(x) = x + x^3 T(x^2), |x| <= 0.75; error 2^-29.29
inline constexpr float tanhTail[] = {
    -0x1.55554ap-2f,
    0x1.110de2p-3f,
    -0x1.b98296p-5f,
    0x1.5f9deap-6f,
    -0x1.f6c3dep-8f,
    0x1.c99208p-10f};

/// erf(x) = x + x E(x^2), |x| <= 1; error 2^-29.39
inline constexpr float erfSmall[] = {
    0x1.06eba8p-3f,
    -0x1.81273ep-2f,
    0x1.ce2ce6p-4f,
    -0x1.b7f71ap-6f,
    0x1.53f224p-8f,
    -0x1.a3515ep-11f,
    0x1.4771fcp-14f};

/// log2(erfc(t)), 1 <= t <= 4; weight erfc(t); error 2^-29.85
inline constexpr float erfLarge[] = {
    -0x1.0b8502p-11f,
    -0x1.a03feap+0f,
    -0x1.d76e7cp-1f,
    -0x1.307042p-3f,
    0x1.01b524p-5f,
    -0x1.15ef66p-8f,
    0x1.18bb0cp-12f};

/// exp(t^2) erfc(t) = y Q(y - 1/2), y = 1 / (1 + t/2), t <= 10.2; error 2^-25.38
inline constexpr float erfcTail[] = {
    0x1.058672p-1f,
    0x1.5fd38cp-1f,
    0x1.1e2dbep-1f,
    0x1.2a7d72p-3f,
    -0x1.6049b6p-3f,
    -0x1.a5f20cp-4f,
    0x1.8e991ap-4f,
    0x1.7f45d4p-5f,
    -0x1.14b8ep-4f,
    0x1.73723cp-7f};

/// log2(erfc(t)), 0 <= t <= 10.5, to 13 bits; error 2^-16.64
inline constexpr float erfcNear[] = {
    0x1.bab6ap-17f,
    -0x1.a0ddecp+0f,
    -0x1.d4c40ap-1f,
    -0x1.3ddc0ap-3f,
    0x1.2a3542p-5f,
    -0x1.a6db54p-8f,
    0x1.b3f366p-11f,
    -0x1.397688p-14f,
    0x1.27fc54p-18f,
    -0x1.4866fp-23f,
    0x1.438818p-29f};

/// log2(m)/z = 2/ln2 (1 + u/3) + u^2 Q(u), z=(m-1)/(m+1), u=z^2; error 2^-40.02
inline constexpr float powTail[] = {
    0x1.2776c2p-1f,
    0x1.a61bbp-2f,
    0x1.47426ep-2f,
    0x1.26cfeap-2f};

/// 2/(3 ln2) = sum
inline constexpr float powC1[] = {
    0x1.ec709ep-1f,
    -0x1.e2fe02p-28f};

// clang-format on
} // namespace tessera::target::coefficients

#endif // TESSERA_TARGET_MATH_COEFFICIENTS_H
