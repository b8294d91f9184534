// The non-temporal copy between two arrays, the roof of what reads one and
// writes the other. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstddef>
#include <immintrin.h>
#include <omp.h>

/// `from` and `to` lie at lines; `lines` are shared among `threads`.
extern "C" void stream_copy(float *to, const float *from, size_t lines,
                            int threads) {
#pragma omp parallel num_threads(threads)
  {
    const size_t thread = omp_get_thread_num(), count = omp_get_num_threads();
    const size_t end = lines * (thread + 1) / count * 16;
    size_t i = lines * thread / count * 16;
    for (; i + 64 <= end; i += 64) {
      __m512 a = _mm512_load_ps(from + i), b = _mm512_load_ps(from + i + 16);
      __m512 c = _mm512_load_ps(from + i + 32),
             d = _mm512_load_ps(from + i + 48);
      _mm512_stream_ps(to + i, a);
      _mm512_stream_ps(to + i + 16, b);
      _mm512_stream_ps(to + i + 32, c);
      _mm512_stream_ps(to + i + 48, d);
    }
    for (; i < end; i += 16)
      _mm512_stream_ps(to + i, _mm512_load_ps(from + i));
    _mm_sfence();
  }
}
