/* C interface of the Tessera runtime: load plans, bind kernels, run them.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * docs/abi.md says what kernels and plans are. Handles are opaque. Structs that
 * may grow begin with their size, so that old callers keep working. Every
 * function is safe to call from several threads unless it says otherwise.
 *
 *   tsr_plan *plan;
 *   tsr_status st = tsr_plan_parse(text, strlen(text), &plan);
 *   tsr_symbol symbols[] = {{"gemm_0", gemm_0}};
 *   if (!st) st = tsr_executable_create(plan, symbols, 1, &gemm);
 *   if (!st) st = tsr_executable_run(gemm, &call);
 *   if (st) { puts(tsr_status_message(st)); tsr_status_free(st); }
 */
#ifndef TESSERA_C_RUNTIME_H
#define TESSERA_C_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TSR_API __attribute__((visibility("default")))

/* ---- Status ------------------------------------------------------------ */

/* NULL is success; anything else is owned by the receiver. */
typedef struct tsr_status_object *tsr_status;

enum {
  TSR_OK = 0,
  TSR_INVALID_PLAN = 1,     /* the text is not a valid plan */
  TSR_UNSUPPORTED = 2,      /* a format version or processor feature */
  TSR_INVALID_ARGUMENT = 3, /* what the caller passed doesn't fit */
  TSR_MISSING_SYMBOL = 4,   /* a kernel of the plan was not provided */
  TSR_OUT_OF_MEMORY = 5,
  TSR_CHECK_FAILED = 6, /* a `check` of the plan or assertion of a kernel */
  TSR_ARITHMETIC = 7,   /* overflow or division by zero in the plan */
  TSR_INTERNAL = 8,     /* kernels and plan contradict each other */
  TSR_DEVICE_ERROR = 9  /* a driver refused a call, or a kernel failed */
};

TSR_API int32_t tsr_status_code(tsr_status status);
/* Lives as long as the status; "" for success. */
TSR_API const char *tsr_status_message(tsr_status status);
TSR_API void tsr_status_free(tsr_status status);
/* For callbacks that can fail; copies the message. */
TSR_API tsr_status tsr_status_create(int32_t code, const char *message);

/* ---- Tensors ------------------------------------------------------------ */

enum {
  TSR_F64 = 0,
  TSR_F32 = 1,
  TSR_F16 = 2,
  TSR_BF16 = 3,
  TSR_F8E4M3 = 4,
  TSR_F8E5M2 = 5,
  TSR_F6E2M3 = 6,
  TSR_F6E3M2 = 7,
  TSR_F4E2M1 = 8,
  TSR_I8 = 9,
  TSR_I16 = 10,
  TSR_I32 = 11,
  TSR_I64 = 12,
  TSR_U8 = 13,
  TSR_U16 = 14,
  TSR_U32 = 15,
  TSR_U64 = 16,
  TSR_BOOL = 17,
  TSR_C64 = 18,
  TSR_NUM_DTYPES = 19
};

#define TSR_MAX_RANK 16
/* As rank: the caller leaves this result out; the allocator provides it. */
#define TSR_ABSENT (-1)

/* "f32", or NULL for a number that is no dtype. */
TSR_API const char *tsr_dtype_name(int32_t dtype);
/* 0 for a number that is no dtype. */
TSR_API int32_t tsr_dtype_bits(int32_t dtype);

typedef struct tsr_tensor {
  void *data; /* element (0, ..., 0) */
  const int64_t *sizes;
  const int64_t *strides; /* in elements; NULL means row-major contiguous */
  int32_t dtype;
  int32_t rank;
} tsr_tensor;

/* ---- Plans -------------------------------------------------------------- */

typedef struct tsr_plan tsr_plan;

/* The text need not live on. On failure *plan is NULL. */
TSR_API tsr_status tsr_plan_parse(const char *text, size_t size,
                                  tsr_plan **plan);
TSR_API void tsr_plan_free(tsr_plan *plan);

enum { TSR_IN = 0, TSR_OUT = 1, TSR_INOUT = 2, TSR_REDUCE = 3, TSR_RESULT = 4 };

typedef struct tsr_tensor_info {
  size_t struct_size; /* set by the caller */
  const char *name;   /* lives as long as the plan */
  int32_t dtype;
  int32_t rank;
  int32_t mode;
  int32_t may_be_absent;
} tsr_tensor_info;

TSR_API const char *tsr_plan_function(const tsr_plan *plan);
TSR_API int32_t tsr_plan_num_tensors(const tsr_plan *plan);
TSR_API tsr_status tsr_plan_tensor(const tsr_plan *plan, int32_t index,
                                   tsr_tensor_info *info);
TSR_API int32_t tsr_plan_num_scalars(const tsr_plan *plan);
/* *dtype becomes TSR_I64, TSR_F64 or TSR_BOOL. */
TSR_API tsr_status tsr_plan_scalar(const tsr_plan *plan, int32_t index,
                                   const char **name, int32_t *dtype);
TSR_API int32_t tsr_plan_num_kernels(const tsr_plan *plan);
/* The symbol without "@"; NULL if there is no such kernel. */
TSR_API const char *tsr_plan_kernel(const tsr_plan *plan, int32_t index);
/* The most scratch memory that a launch of a CPU asks for, in bytes per thread;
   what it computes only when it runs is not counted. */
TSR_API int64_t tsr_plan_scratch(const tsr_plan *plan);

/* ---- Executables --------------------------------------------------------- */

/* CPU kernel ABI 1, see docs/abi.md section 2. */
typedef int32_t (*tsr_kernel_fn)(void *const *pointers, const int64_t *integers,
                                 int64_t begin, int64_t end, void *scratch);

typedef struct tsr_symbol {
  const char *name;
  tsr_kernel_fn function;
} tsr_symbol;

typedef struct tsr_executable tsr_executable;

/* Binds every kernel of the plan; more symbols than needed are fine. The plan
 * may be freed afterwards, the kernels must stay. */
TSR_API tsr_status tsr_executable_create(const tsr_plan *plan,
                                         const tsr_symbol *symbols,
                                         size_t num_symbols,
                                         tsr_executable **executable);
/* Finds the kernel `name`; may be called by several threads at once. */
typedef tsr_status (*tsr_resolve_fn)(void *context, const char *name,
                                     tsr_kernel_fn *function);
/* The same, but each kernel is asked for when it is first launched: plans with
 * a kernel per head size or feature need only some of them. */
TSR_API tsr_status tsr_executable_create_lazy(const tsr_plan *plan,
                                              tsr_resolve_fn resolve,
                                              void *context,
                                              tsr_executable **executable);
/* No run may be under way. */
TSR_API void tsr_executable_free(tsr_executable *executable);

/* Provides the memory of tensor `index` of the call, which was left out: row-
 * major contiguous, `bytes` long, aligned to the element, better to 64 bytes.
 * NULL means out of memory. `sizes` lives only during this call. */
typedef void *(*tsr_allocate_fn)(void *context, int32_t index, int32_t dtype,
                                 int32_t rank, const int64_t *sizes,
                                 size_t bytes);

/* A GPU: tessera-c/device.h. */
typedef struct tsr_device tsr_device;

/* Wait for every kernel, so that an error of one names it. */
#define TSR_CALL_SYNCHRONIZE 1u

typedef struct tsr_call {
  size_t struct_size;
  const tsr_tensor *tensors; /* the arguments in order, then the results */
  const int64_t *scalars;    /* i64, bits of an f64, or bool as 0 and 1 */
  int32_t num_tensors;
  int32_t num_scalars;
  tsr_allocate_fn allocate; /* may be NULL if nothing is left out */
  void *allocate_context;
  /* For plans of GPUs; all tensors are in memory that the device sees. The call
   * returns when its work is in the stream. A call that ends here is for the
   * CPU. */
  tsr_device *device;
  void *stream; /* CUstream; NULL is the default stream */
  uint32_t flags;
} tsr_call;

/* Several threads may run one executable at the same time. */
TSR_API tsr_status tsr_executable_run(const tsr_executable *executable,
                                      const tsr_call *call);

/* ---- Functions ------------------------------------------------------------
 *
 * A library built ahead of time holds each function as data: its versions, and
 * for each what a call must be like. */

/* What tsr_guard looks like. */
#define TSR_GUARD_FORMAT 2

/* What a guard asks of an argument. */
enum {
  /* The dtype in bits 0 to 31; bits above are the caller's. */
  TSR_FIELD_TYPE = 0,
  /* The size of an axis. */
  TSR_FIELD_SIZE = 1,
  /* A bit for each axis whose size is 1. */
  TSR_FIELD_UNIT_SIZES = 2,
  /* A bit for each axis with a stride of 1, or with one element or none. */
  TSR_FIELD_UNIT_STRIDES = 3,
  /* The bits of a scalar, or a number of the caller's. */
  TSR_FIELD_VALUE = 4
};

/* Of argument `argument` (here: a tensor of the call) the bits `mask` of the
 * field are `value`. A tensor that is left out, or that has no such axis,
 * passes: the plan judges it. */
typedef struct tsr_guard {
  int32_t argument;
  int16_t field;
  int16_t axis;
  int64_t mask;
  int64_t value;
} tsr_guard;

struct tsr_image;

/* The kernels of a version for GPUs; tessera-c/device.h. */
typedef struct tsr_image_list {
  const struct tsr_image *images;
  size_t num_images;
} tsr_image_list;

typedef struct tsr_version {
  const char *plan;
  size_t plan_size;
  const tsr_symbol *symbols;
  size_t num_symbols;
  const tsr_guard *guards;
  size_t num_guards;
} tsr_version;

typedef struct tsr_function {
  size_t struct_size;
  const char *name;
  const tsr_version *versions; /* the first that fits is taken */
  size_t num_versions;
  tsr_executable **executables; /* as many, NULL at first: the runtime's own */
  const tsr_image_list *images; /* as many, or NULL: all are for the CPU */
  int64_t guard_format;         /* TSR_GUARD_FORMAT */
} tsr_function;

/* Runs the first version whose guards hold and whose processor features this
 * machine has; with a device in the call, whose images the device can run.
 * Without one, the error says what the nearest one asks for. */
TSR_API tsr_status tsr_function_run(const tsr_function *function,
                                    const tsr_call *call);

/* ---- Threads --------------------------------------------------------------
 */

typedef void (*tsr_range_fn)(void *data, int64_t begin, int64_t end);

/* Calls `body` on disjoint non-empty ranges that cover [0, n); returns when all
 * have returned. See docs/abi.md section 4. */
TSR_API void tsr_parallel_for(int64_t n, tsr_range_fn body, void *data);

/* Has the contract of tsr_parallel_for; `max_threads` is an upper limit. */
typedef void (*tsr_parallel_for_fn)(void *context, int64_t n,
                                    int32_t max_threads, tsr_range_fn body,
                                    void *data);

/* The application's own threads; NULL goes back to the default. Not to be
 * called while something runs. */
TSR_API void tsr_set_parallel_for(tsr_parallel_for_fn function, void *context);

/* Where lines that kernels print go, `length` bytes with their newline; NULL
 * goes back to the standard output. It is called on the thread that runs the
 * plan, after each launch. */
typedef void (*tsr_print_fn)(void *context, const char *text, size_t length);
TSR_API void tsr_set_print(tsr_print_fn function, void *context);

/* What kernels call to print a line: docs/abi.md, section 2. */
TSR_API void tsr_print_begin(const char *text, int64_t length, int64_t program);
TSR_API void tsr_print_value(void);
TSR_API void tsr_print_axis(int64_t size, int64_t length);
TSR_API void tsr_print_int(int64_t value, int64_t bits);
TSR_API void tsr_print_float(double value, int64_t bits);
TSR_API void tsr_print_end(void);

/* 0 goes back to TESSERA_NUM_THREADS, OMP_NUM_THREADS or the processors. */
TSR_API void tsr_set_num_threads(int32_t threads);
TSR_API int32_t tsr_get_num_threads(void);

/* Who provides the threads now: "custom", "libgomp" or "pool". */
TSR_API const char *tsr_threading_name(void);

/* ---- Memory ---------------------------------------------------------------
 */

/* 64-byte aligned memory from the runtime's pool; NULL if there is none. */
TSR_API void *tsr_allocate(size_t bytes);
TSR_API void tsr_deallocate(void *memory);

/* A copy of `data` that never changes, for weights: a run keeps what it has to
 * prepare of it (a packed operand) for later runs. Its pages are read-only:
 * writing to them ends the process. */
TSR_API tsr_status tsr_constant_create(const void *data, size_t bytes,
                                       void **memory);
/* No run may be using it. */
TSR_API void tsr_constant_free(void *memory);

typedef struct tsr_memory_stats {
  size_t struct_size; /* set by the caller */
  uint64_t bytes_in_use;
  uint64_t peak_bytes_in_use;
  uint64_t bytes_cached; /* free blocks kept for the next request */
  uint64_t allocations;
  uint64_t pool_hits; /* allocations that took a cached block */
} tsr_memory_stats;

TSR_API void tsr_get_memory_stats(tsr_memory_stats *stats);
/* Gives all cached blocks back to the system. */
TSR_API void tsr_release_cached_memory(void);
/* Blocks beyond this many cached bytes are given back at once, those that are
 * cached too. */
TSR_API void tsr_set_memory_cache_limit(uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
