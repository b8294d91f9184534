// Kernels with one planted bug each; the line that must be reported ends in
// BUG. Built and run by test_bugs.py.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define K extern "C" __global__ void
typedef unsigned long long u64;
__device__ __forceinline__ unsigned shared_address(const void *p) {
  return unsigned(__cvta_generic_to_shared(p));
}

K race_missing_sync(int *g) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = t;
  g[t] = s[63 - t]; // BUG
}
K race_write_after_read(int *g) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = t;
  __syncthreads();
  int v = s[(t + 32) % 64];
  s[t] = v + 1; // BUG
  __syncthreads();
  g[t] = s[t];
}
K race_write_write(int *g) {
  __shared__ int s[1];
  s[0] = threadIdx.x + 1; // BUG
  __syncthreads();
  g[threadIdx.x] = s[0];
}
K race_in_warp(int *g) {
  __shared__ volatile int s[32];
  int t = threadIdx.x;
  int *p = (int *)s;
  p[t] = t;
  g[t] = p[t ^ 1]; // BUG
}
K race_named_barrier(int *g) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = t;
  asm volatile("bar.sync %0, 32;" ::"r"(1 + t / 32) : "memory");
  g[t] = s[(t + 32) % 64]; // BUG
}
K race_double_buffer(int *g) {
  __shared__ int s[2][64];
  int t = threadIdx.x;
  for (int k = 0; k < 4; ++k) {
    s[0][t] = g[t] + k; // BUG
    __syncthreads();
    g[t] += s[0][(t + 33) % 64];
  }
}
K race_global_in_block(int *g) {
  int t = threadIdx.x;
  g[t] = t;
  g[64 + t] = g[(t + 40) % 64]; // BUG
}
K race_between_blocks(int *g) {
  if (blockIdx.x == 0)
    g[threadIdx.x] = 1;
  else
    g[64 + threadIdx.x] = g[threadIdx.x]; // BUG
}
K race_plain_and_atomic(int *g) {
  if (threadIdx.x == 0)
    g[0] = 5;
  else
    atomicAdd(&g[0], 1); // BUG
}
K race_flag_without_fence(int *g) {
  volatile int *flag = g + 1;
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      g[0] = 42;
      *flag = 1;
    }
  } else if (threadIdx.x == 0) {
    while (*flag == 0) {
    }
    g[2] = g[0]; // BUG
  }
}
K race_scope_too_narrow(int *g) {
  atomicAdd_block(&g[0], 1); // BUG
}
K race_after_partial_arrive(int *g) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t < 32) {
    asm volatile("bar.arrive 1, 64;" ::: "memory");
    s[t] = t;
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    g[t] = s[t - 32]; // BUG
  }
}
K oob_read(int *g) {
  g[threadIdx.x] = g[threadIdx.x + 100]; // BUG
}
K oob_write_before(int *g) {
  g[int(threadIdx.x) - 3] = 1; // BUG
}
K oob_last_thread(int *g) {
  g[threadIdx.x + 1 + 64] = 1; // BUG
}
K oob_shared(int *g) {
  extern __shared__ int d[];
  d[threadIdx.x] = 1;
  __syncthreads();
  g[threadIdx.x] = d[threadIdx.x * 4]; // BUG
}
K null_pointer(int *g, int *p) {
  g[0] = p[threadIdx.x]; // BUG
}
K misaligned_vector(int *g) {
  *(int4 *)(g + 1) = make_int4(1, 2, 3, 4); // BUG
}
K misaligned_scalar(int *g) {
  *(int *)((char *)g + threadIdx.x) = 1; // BUG
}
K use_after_free(int *g, int *p) {
  g[threadIdx.x] = p[threadIdx.x]; // BUG
}
K uninitialised_global(int *g, int *p) {
  g[threadIdx.x] = p[threadIdx.x]; // BUG
}
K uninitialised_shared(int *g) {
  __shared__ int s[64];
  if (threadIdx.x < 63)
    s[threadIdx.x] = 1;
  __syncthreads();
  g[threadIdx.x] = s[threadIdx.x]; // BUG
}
K uninitialised_padding(int *g) {
  __shared__ int s[32][33];
  s[threadIdx.x / 32][threadIdx.x % 32] = 1;
  __syncthreads();
  g[threadIdx.x] = ((int *)s)[threadIdx.x]; // BUG
}
K divergent_barrier(int *g) {
  if (threadIdx.x % 32 < 16) {
    g[0] = 1;
    asm volatile("bar.sync 0;" ::: "memory"); // BUG
  } else {
    g[1] = 1;
    asm volatile("bar.sync 0;" ::: "memory"); // BUG
    g[2] = 1;
  }
}
K barrier_counts_differ(int *g) {
  if (threadIdx.x < 32)
    asm volatile("bar.sync 1, 64;" ::: "memory"); // BUG
  else
    asm volatile("bar.sync 1, 32;" ::: "memory"); // BUG
  g[threadIdx.x] = 1;
}
K barrier_count_not_of_warps(int *g) {
  asm volatile("bar.sync 1, 50;" ::: "memory"); // BUG
  g[threadIdx.x] = 1;
}
K barrier_left_open(int *g) {
  if (threadIdx.x < 32)
    asm volatile("bar.arrive 2, 64;" ::: "memory"); // BUG
  g[threadIdx.x] = 1;
}
K deadlock_barrier(int *g) {
  if (threadIdx.x < 32)
    asm volatile("bar.sync 1, 64;" ::: "memory"); // BUG
  g[threadIdx.x] = 1;
}
K deadlock_spin(int *g) {
  volatile int *p = g;
  while (p[0] == 0) { // BUG
  }
}
K deadlock_shuffle(int *g) {
  int v = threadIdx.x;
  if (threadIdx.x < 16)
    v = __shfl_sync(0xffffffff, v, 0); // BUG
  else
    asm volatile("bar.sync 0;" ::: "memory");
  g[threadIdx.x] = v;
}
K shuffle_from_missing_lane(int *g) {
  int v = threadIdx.x;
  if (threadIdx.x < 16)
    v = __shfl_sync(0x0000ffff, v, 20); // BUG
  g[threadIdx.x] = v;
}
K mbarrier_not_initialised(int *g) {
  __shared__ u64 b;
  u64 state;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(shared_address(&b)) : "memory"); // BUG
  g[threadIdx.x] = int(state);
}
K mbarrier_too_many(int *g) {
  __shared__ u64 b;
  if (threadIdx.x == 0)
    asm volatile("mbarrier.init.shared.b64 [%0], 8;" ::"r"(shared_address(&b)) : "memory");
  __syncthreads();
  u64 state;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1], 5;" : "=l"(state) : "r"(shared_address(&b)) : "memory"); // BUG
  g[threadIdx.x] = int(state >> 63);
}
#define COPY(to, from)                                                         \
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(               \
                   shared_address(to)),                                        \
               "l"(from)                                                       \
               : "memory")
K copy_read_before_wait(int *g) {
  __shared__ int s[64];
  int t = threadIdx.x;
  COPY(&s[t], g + t);
  asm volatile("cp.async.commit_group;" ::: "memory");
  g[64 + t] = s[t]; // BUG
  asm volatile("cp.async.wait_all;" ::: "memory");
}
K copy_waits_for_too_little(int *g) {
  __shared__ int s[2][64];
  int t = threadIdx.x;
  COPY(&s[0][t], g + t);
  asm volatile("cp.async.commit_group;" ::: "memory");
  COPY(&s[1][t], g + 64 + t);
  asm volatile("cp.async.commit_group;\ncp.async.wait_group 1;" ::: "memory");
  __syncthreads();
  g[128 + t] = s[1][63 - t]; // BUG
  asm volatile("cp.async.wait_all;" ::: "memory");
}
K copy_without_barrier(int *g) {
  __shared__ int s[64];
  int t = threadIdx.x;
  COPY(&s[t], g + t);
  asm volatile("cp.async.wait_all;" ::: "memory");
  g[64 + t] = s[63 - t]; // BUG
}
K copy_never_waited(int *g) {
  __shared__ int s[64];
  COPY(&s[threadIdx.x], g + threadIdx.x); // BUG
}
K copy_overwritten(int *g) {
  __shared__ int s[64];
  int t = threadIdx.x;
  COPY(&s[t], g + t);
  s[t] = 7; // BUG
  asm volatile("cp.async.wait_all;" ::: "memory");
  g[64 + t] = s[t];
}
K trap_reached(int *g) {
  if (g[threadIdx.x] == 0)
    __trap(); // BUG
}
K correct(int *g) {
  __shared__ int s[64];
  int t = threadIdx.x;
  COPY(&s[t], g + t);
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  int v = s[63 - t];
  __syncthreads();
  s[t] = v;
  __syncwarp();
  g[64 + t] = s[t ^ 1];
  atomicAdd(&g[200], 1);
}
