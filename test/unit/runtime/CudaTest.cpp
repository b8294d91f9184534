// GPUs, on the simulator's driver: plans, memory, threads, and every failure.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/CudaModule.h"
#include "tessera/runtime.h"

#include "gtest/gtest.h"
#include "tessera-c/device.h"
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <numeric>
#include <thread>

using namespace tessera::runtime;

namespace {

// double(x, t): t[i] = 2 x[i]; both have their size and stride.
constexpr const char *ptx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 x, .param .u64 n, .param .u64 sx,
                      .param .u64 t, .param .u64 m, .param .u64 st) {
.reg .b32 %r<4>; .reg .b64 %d<8>; .reg .f32 %f; .reg .pred %p;
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
mad.lo.s32 %r1, %r1, %r2, %r3; cvt.u64.u32 %d1, %r1;
ld.param.u64 %d2, [n]; setp.ge.u64 %p, %d1, %d2; @%p bra END;
ld.param.u64 %d3, [sx]; mul.lo.u64 %d3, %d3, %d1; shl.b64 %d3, %d3, 2;
ld.param.u64 %d4, [x]; add.u64 %d3, %d3, %d4; ld.global.f32 %f, [%d3];
add.f32 %f, %f, %f;
ld.param.u64 %d5, [st]; mul.lo.u64 %d5, %d5, %d1; shl.b64 %d5, %d5, 2;
ld.param.u64 %d6, [t]; add.u64 %d5, %d5, %d6; st.global.f32 [%d5], %f;
END: ret;
}
)";

// Doubles X until its first element is not below the limit.
constexpr const char *planText = R"(tessera.plan 1
function grow
target sm_80 1
arg %X inout f32 [$N]
arg $limit i64
body
  let $i = 0
  alloc %T f32 [$N]
  alloc %Flag i32 [1]
  loop
    while $i < $limit
    launch @twice(%X, %T) grid $N ceildiv 128 block 128 shared 0
    view %Half = %T offset 0 sizes [$N] strides [1]
    launch @twice(%Half, %X) grid $N ceildiv 128 block 128 shared 0
    set $i = $i + 1
  end
  load $first = %X [0]
end
)";

const char *simulator() {
  const char *given = std::getenv("TESSERA_SIM_DRIVER");
  return given ? given : TESSERA_SIM_DRIVER;
}

std::string take(tsr_status status) {
  std::string text = tsr_status_message(status);
  tsr_status_free(status);
  return text;
}

class Cuda : public testing::Test {
protected:
  void SetUp() override {
    if (!std::filesystem::exists(simulator()))
      GTEST_SKIP() << simulator() << " is not built";
    setenv("TESSERA_FAULTY_DRIVER", simulator(), 1);
    void *library = dlopen(TESSERA_FAULTY_LIBRARY, RTLD_NOW);
    ASSERT_TRUE(library) << dlerror();
    fail = reinterpret_cast<decltype(fail)>(dlsym(library, "faulty_set"));
    calls = reinterpret_cast<decltype(calls)>(dlsym(library, "faulty_calls"));
    begin = reinterpret_cast<decltype(begin)>(
        dlsym(library, "cuStreamBeginCapture_v2"));
    end = reinterpret_cast<decltype(end)>(dlsym(library, "cuStreamEndCapture"));
    fail("", 0, 0);
    ASSERT_EQ(take(tsr_cuda_device(TESSERA_FAULTY_LIBRARY, 0, &gpu)), "");
  }
  void TearDown() override {
    if (fail)
      fail("", 0, 0);
  }

  tsr_executable *make(const char *plan = planText, const char *image = ptx,
                       const char *arch = "sm_80") {
    tsr_plan *parsed = nullptr;
    EXPECT_EQ(take(tsr_plan_parse(plan, std::strlen(plan), &parsed)), "");
    tsr_image images[] = {{arch, image, std::strlen(image)}};
    tsr_executable *made = nullptr;
    EXPECT_EQ(take(tsr_executable_create_cuda(parsed, images, 1, &made)), "");
    tsr_plan_free(parsed);
    return made;
  }

  /// Copies, runs with `limit`, copies back.
  tsr_status grow(const tsr_executable *executable, std::vector<float> &values,
                  int64_t limit, void *stream = nullptr, uint32_t flags = 0) {
    size_t bytes = values.size() * sizeof(float);
    void *memory = nullptr;
    if (tsr_status status = tsr_device_allocate(gpu, bytes, stream, &memory))
      return status;
    auto size = static_cast<int64_t>(values.size());
    tsr_tensor tensor{memory, &size, nullptr, TSR_F32, 1};
    tsr_call call = tessera::makeCall(&tensor, 1, &limit, 1);
    call.device = gpu;
    call.stream = stream;
    call.flags = flags;
    tsr_status status =
        tsr_device_copy(gpu, memory, values.data(), bytes, stream);
    if (!status)
      status = tsr_executable_run(executable, &call);
    if (!status)
      status = tsr_device_copy(gpu, values.data(), memory, bytes, stream);
    if (!status)
      status = tsr_stream_synchronize(gpu, stream);
    tsr_device_deallocate(gpu, memory, stream);
    return status;
  }

  static std::vector<float> ramp(size_t size) {
    std::vector<float> values(size);
    std::iota(values.begin(), values.end(), 1.0f);
    return values;
  }

  void (*fail)(const char *, int, int) = nullptr;
  int (*calls)() = nullptr;
  int (*begin)(void *, int) = nullptr;
  int (*end)(void *, void **) = nullptr;
  tsr_device *gpu = nullptr;
};

TEST_F(Cuda, LoopsViewsAndLoads) {
  tsr_executable *executable = make();
  std::vector<float> values = ramp(300);
  EXPECT_EQ(take(grow(executable, values, 3)), "");
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], 64.0f * static_cast<float>(i + 1));
  tsr_executable_free(executable);
}

TEST_F(Cuda, TemporariesComeFromThePool) {
  tsr_device_set_memory_cache_limit(gpu, 1 << 20);
  tsr_executable *executable = make();
  tsr_memory_stats before{}, after{};
  before.struct_size = after.struct_size = sizeof before;
  std::vector<float> values = ramp(300);
  EXPECT_EQ(take(grow(executable, values, 1)), "");
  tsr_status_free(tsr_device_get_memory_stats(gpu, &before));
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(take(grow(executable, values, 1)), "");
  tsr_status_free(tsr_device_get_memory_stats(gpu, &after));
  EXPECT_EQ(after.pool_hits - before.pool_hits,
            after.allocations - before.allocations);
  EXPECT_EQ(after.bytes_in_use, before.bytes_in_use);
  EXPECT_EQ(take(tsr_device_release_cached_memory(gpu)), "");
  tsr_status_free(tsr_device_get_memory_stats(gpu, &after));
  EXPECT_EQ(after.bytes_cached, 0u);
  tsr_executable_free(executable);
}

TEST_F(Cuda, ThreadsOnTheirOwnStreams) {
  tsr_device_set_memory_cache_limit(gpu, 1 << 20);
  tsr_executable *executable = make();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      void *stream = nullptr, *event = nullptr;
      wrong += tsr_stream_create(gpu, &stream) != nullptr;
      wrong += tsr_event_create(gpu, &event) != nullptr;
      for (int i = 0; i < 10; ++i) {
        std::vector<float> values = ramp(100 + t);
        tsr_status status =
            grow(executable, values, 1, t % 2 ? stream : nullptr);
        wrong += status != nullptr || values[t] != 4.0f * float(t + 1);
        tsr_status_free(status);
        wrong += tsr_event_record(gpu, event, stream) != nullptr;
        wrong += tsr_stream_wait(gpu, nullptr, event) != nullptr;
      }
      tsr_event_destroy(gpu, event);
      tsr_stream_destroy(gpu, stream);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  tsr_executable_free(executable);
}

TEST_F(Cuda, ArchitecturesThatFit) {
  auto fit = [](const char *image, bool isCubin, const char *device) {
    CudaArch a, b;
    EXPECT_TRUE(parseArch(image, a) && parseArch(device, b));
    return fits(a, isCubin, b);
  };
  EXPECT_TRUE(fit("sm_80", true, "sm_86") && fit("sm_80", false, "sm_120"));
  EXPECT_FALSE(fit("sm_80", true, "sm_90") || fit("sm_86", true, "sm_80"));
  EXPECT_FALSE(fit("sm_90", false, "sm_89"));
  EXPECT_TRUE(fit("sm_90a", true, "sm_90") && fit("sm_90a", false, "sm_90"));
  EXPECT_FALSE(fit("sm_90a", false, "sm_100") ||
               fit("sm_120a", true, "sm_121"));
  EXPECT_TRUE(fit("sm_100f", true, "sm_103"));
  EXPECT_FALSE(fit("sm_100f", false, "sm_110"));
  // As texts, "sm_100" < "sm_90".
  EXPECT_FALSE(fit("sm_100", false, "sm_90"));
  CudaArch arch;
  for (const char *text : {"sm_", "80", "sm_80b", "sm_80aa", "sm_1", "cpu"})
    EXPECT_FALSE(parseArch(text, arch)) << text;
}

TEST_F(Cuda, WhatAnImageLacks) {
  auto error = [&](const char *plan, const char *image, const char *arch) {
    tsr_executable *executable = make(plan, image, arch);
    std::string text = take(tsr_executable_load(executable, gpu));
    tsr_executable_free(executable);
    return text;
  };
  EXPECT_EQ(error(planText, ptx, "sm_90"),
            "grow has no kernels for Tessera simulator (sm_80) (sm_80); it has "
            "sm_90 (PTX)");
  std::string other = ptx;
  other.replace(other.find("twice"), 5, "thrice");
  EXPECT_EQ(error(planText, other.c_str(), "sm_80"),
            "grow needs the kernel twice, which its image does not have: "
            "CUDA_ERROR_NOT_FOUND (named symbol not found)");
  EXPECT_PRED_FORMAT2(
      testing::IsSubstring,
      "loading the kernels of grow on Tessera simulator "
      "(sm_80) (sm_80): sm_80 PTX: CUDA_ERROR_INVALID_PTX",
      error(planText, ".version 7.0\n.target sm_80\nnonsense", "sm_80"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring,
                      "sm_80 cubin: CUDA_ERROR_NO_BINARY_FOR_GPU",
                      error(planText,
                            "\x7f"
                            "ELF, a cubin",
                            "sm_80"));
  std::string fewer = planText;
  for (size_t at; (at = fewer.find("(%X, %T)")) != std::string::npos;)
    fewer.replace(at, 8, "(%X)");
  for (size_t at; (at = fewer.find("(%Half, %X)")) != std::string::npos;)
    fewer.replace(at, 11, "(%X)");
  EXPECT_EQ(error(fewer.c_str(), ptx, "sm_80"),
            "kernel twice does not take the 3 parameters that the plan of grow "
            "gives it");
}

TEST_F(Cuda, SharedMemoryOfAVariant) {
  // The second launch asks for more than the GPU has: an error if it is taken.
  std::string large = planText;
  large.replace(large.rfind("shared 0"), 8, "shared 200000");
  tsr_executable *executable = make(large.c_str());
  std::vector<float> values = ramp(10);
  EXPECT_EQ(take(grow(executable, values, 0)), "");
  EXPECT_PRED_FORMAT2(testing::IsSubstring,
                      "kernel twice needs 200000 bytes of shared memory",
                      take(grow(executable, values, 1)));
  tsr_executable_free(executable);
  // One kernel with two sizes: the limit is the larger, in whichever order.
  large = planText;
  large.replace(large.find("shared 0"), 8, "shared 100000");
  large.replace(large.find("shared 0"), 8, "shared 60000");
  executable = make(large.c_str());
  EXPECT_EQ(take(grow(executable, values, 1)), "");
  tsr_executable_free(executable);
}

TEST_F(Cuda, CallsThatDoNotFit) {
  tsr_executable *executable = make();
  int64_t size = 4, limit = 1;
  float data[4];
  tsr_tensor tensor{data, &size, nullptr, TSR_F32, 1};
  tsr_call call = tessera::makeCall(&tensor, 1, &limit, 1);
  EXPECT_EQ(take(tsr_executable_run(executable, &call)),
            "grow is compiled for sm_80, but the call names no GPU");
  call.struct_size = offsetof(tsr_call, device); // an older program
  EXPECT_EQ(take(tsr_executable_run(executable, &call)),
            "grow is compiled for sm_80, but the call names no GPU");
  tsr_plan *plan = nullptr;
  tsr_status_free(tsr_plan_parse(planText, std::strlen(planText), &plan));
  tsr_executable *onCpu = nullptr;
  EXPECT_EQ(take(tsr_executable_create(plan, nullptr, 0, &onCpu)),
            "grow is compiled for sm_80; its kernels are images, not "
            "functions");
  tsr_plan_free(plan);
  tsr_executable_free(executable);
}

TEST_F(Cuda, CapturedStreamsHaveNoTemporaries) {
  tsr_executable *executable = make();
  EXPECT_EQ(take(tsr_executable_load(executable, gpu)), "");
  void *stream = nullptr, *graph = nullptr;
  ASSERT_EQ(take(tsr_stream_create(gpu, &stream)), "");
  ASSERT_EQ(begin(stream, 0), 0);
  int64_t size = 1, limit = 1;
  tsr_tensor tensor{&size, &size, nullptr, TSR_F32, 1};
  tsr_call call = tessera::makeCall(&tensor, 1, &limit, 1);
  call.device = gpu;
  call.stream = stream;
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "while a CUDA graph is captured",
                      take(tsr_executable_run(executable, &call)));
  EXPECT_EQ(end(stream, &graph), 0);
  tsr_stream_destroy(gpu, stream);
  tsr_executable_free(executable);
}

TEST_F(Cuda, MemoryIsAskedForTwice) {
  tsr_device_set_memory_cache_limit(gpu, 1 << 20);
  void *cachedBlock = nullptr, *memory = nullptr;
  ASSERT_EQ(take(tsr_device_allocate(gpu, 5000, nullptr, &cachedBlock)), "");
  tsr_device_deallocate(gpu, cachedBlock, nullptr);
  // The driver refuses while there are cached blocks, which then are freed.
  fail("cuMemAlloc_v2", 2, 0);
  EXPECT_EQ(take(tsr_device_allocate(gpu, 100000, nullptr, &memory)),
            "no 114688 bytes of memory on Tessera simulator (sm_80): "
            "CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
  EXPECT_EQ(calls(), 2);
  fail("", 0, 0);
  tsr_status status =
      tsr_device_allocate(gpu, size_t{1} << 40, nullptr, &memory);
  EXPECT_EQ(tsr_status_code(status), TSR_OUT_OF_MEMORY);
  tsr_status_free(status);
}

/// Each function of the driver fails once while a plan is run from the start.
struct Failure {
  const char *function;
  const char *message; // of the whole run

  friend void PrintTo(const Failure &failure, std::ostream *os) {
    *os << failure.function;
  }
};

class CudaFailure : public Cuda, public testing::WithParamInterface<Failure> {};

TEST_P(CudaFailure, IsReported) {
  // Nothing is taken from the pool, so that the driver is asked.
  EXPECT_EQ(take(tsr_device_release_cached_memory(gpu)), "");
  tsr_device_set_memory_cache_limit(gpu, 0);
  tsr_executable *executable = make();
  std::vector<float> values = ramp(10);
  fail(GetParam().function, 999, 0);
  std::string text =
      take(grow(executable, values, 1, nullptr, TSR_CALL_SYNCHRONIZE));
  EXPECT_GE(calls(), 1) << "the function is not used any more";
  EXPECT_PRED_FORMAT2(testing::IsSubstring, GetParam().message, text);
  EXPECT_PRED_FORMAT2(testing::IsSubstring,
                      "CUDA_ERROR_UNKNOWN (unknown error)", text);
  fail("", 0, 0);
  // What failed left nothing behind.
  values = ramp(10);
  EXPECT_EQ(take(grow(executable, values, 1)), "");
  EXPECT_EQ(values[9], 40.0f);
  tsr_executable_free(executable);
}

INSTANTIATE_TEST_SUITE_P(
    Driver, CudaFailure,
    testing::Values(
        Failure{"cuCtxGetCurrent", "using Tessera simulator (sm_80)"},
        Failure{"cuCtxPushCurrent_v2", "using Tessera simulator (sm_80)"},
        Failure{"cuStreamIsCapturing", "using a stream of Tessera simulator"},
        Failure{"cuMemAlloc_v2", "no 40 bytes of memory on Tessera simulator"},
        Failure{"cuMemcpyAsync", "copying 40 bytes on Tessera simulator"},
        Failure{"cuModuleLoadDataEx",
                "loading the kernels of grow on Tessera simulator"},
        Failure{"cuModuleGetFunction", "grow needs the kernel twice"},
        Failure{"cuLaunchKernel",
                "grow, kernel twice (1 blocks of 128 threads) on Tessera "
                "simulator (sm_80)"},
        Failure{"cuStreamSynchronize",
                "grow, kernel twice (1 blocks of 128 threads) on Tessera "
                "simulator (sm_80)"},
        Failure{"cuMemcpyDtoHAsync_v2", "reading from Tessera simulator"}),
    [](const auto &info) { return std::string(info.param.function); });

TEST_F(Cuda, FailuresOfTemporaries) {
  tsr_device_set_memory_cache_limit(gpu, 0);
  tsr_executable *executable = make();
  EXPECT_EQ(take(tsr_executable_load(executable, gpu)), "");
  std::vector<float> values = ramp(10);
  fail("cuMemAlloc_v2", 2, 1); // the argument's is good
  tsr_status status = grow(executable, values, 1);
  EXPECT_EQ(tsr_status_code(status), TSR_OUT_OF_MEMORY);
  EXPECT_EQ(
      take(status),
      "grow, plan line 8: no memory for the temporary T (10): no 40 bytes "
      "of memory on Tessera simulator (sm_80): CUDA_ERROR_OUT_OF_MEMORY "
      "(out of memory)");
  tsr_executable_free(executable);
}

TEST_F(Cuda, FaultsOfKernelsNameThem) {
  tsr_executable *executable = make();
  std::vector<float> values = ramp(10);
  fail("cuLaunchKernel", 700, 1);
  EXPECT_PRED_FORMAT2(testing::IsSubstring,
                      "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access "
                      "was encountered); it may be of an earlier kernel",
                      take(grow(executable, values, 1)));
  fail("cuStreamSynchronize", 700, 0);
  std::string text =
      take(grow(executable, values, 1, nullptr, TSR_CALL_SYNCHRONIZE));
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "grow, kernel twice", text);
  EXPECT_PRED_FORMAT2(testing::IsNotSubstring, "earlier", text);
  tsr_executable_free(executable);
}

TEST_F(Cuda, FailuresOfStreamsAndEvents) {
  void *stream = nullptr, *event = nullptr;
  ASSERT_EQ(take(tsr_stream_create(gpu, &stream)), "");
  ASSERT_EQ(take(tsr_event_create(gpu, &event)), "");
  float milliseconds = 0;
  auto check = [&](const char *function, const char *what, auto body) {
    fail(function, 400, 0);
    EXPECT_EQ(take(body()), std::string(what) +
                                " on Tessera simulator (sm_80): "
                                "CUDA_ERROR_INVALID_HANDLE (invalid resource "
                                "handle)");
    fail("", 0, 0);
  };
  void *other;
  check("cuStreamCreate", "making a stream",
        [&] { return tsr_stream_create(gpu, &other); });
  check("cuEventCreate", "making an event",
        [&] { return tsr_event_create(gpu, &other); });
  check("cuEventRecord", "recording an event",
        [&] { return tsr_event_record(gpu, event, stream); });
  check("cuEventSynchronize", "waiting for an event",
        [&] { return tsr_event_synchronize(gpu, event); });
  check("cuEventElapsedTime", "timing",
        [&] { return tsr_event_elapsed(gpu, event, event, &milliseconds); });
  check("cuStreamWaitEvent", "waiting for an event",
        [&] { return tsr_stream_wait(gpu, stream, event); });
  check("cuStreamSynchronize", "waiting for a stream",
        [&] { return tsr_stream_synchronize(gpu, stream); });
  tsr_event_destroy(gpu, event);
  tsr_stream_destroy(gpu, stream);
}

/// Another spelling of the path is another driver to the runtime, which opens
/// it from the start.
TEST_F(Cuda, FailuresOfOpening) {
  std::string path = TESSERA_FAULTY_LIBRARY;
  auto open = [&](const char *function) {
    path.insert(path.rfind('/'), "/.");
    fail(function, 100, 0);
    tsr_device *device = nullptr;
    tsr_status status = tsr_cuda_device(path.c_str(), 0, &device);
    EXPECT_EQ(device, nullptr);
    fail("", 0, 0);
    return take(status);
  };
  for (const char *function : {"cuInit", "cuDriverGetVersion"})
    EXPECT_EQ(
        open(function),
        "there is no CUDA driver: " + path +
            ": CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)");
  EXPECT_EQ(open("cuDeviceGetCount"),
            "counting GPUs: CUDA_ERROR_NO_DEVICE (no CUDA-capable device is "
            "detected)");
  for (const char *function :
       {"cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute",
        "cuDeviceTotalMem_v2", "cuDevicePrimaryCtxRetain"})
    EXPECT_EQ(open(function), "opening GPU 0: CUDA_ERROR_NO_DEVICE (no "
                              "CUDA-capable device is detected)");
  tsr_device *device = nullptr;
  EXPECT_EQ(take(tsr_cuda_device(TESSERA_FAULTY_LIBRARY, 7, &device)),
            std::string("there is no GPU 7: ") + TESSERA_FAULTY_LIBRARY +
                " has 1");
  EXPECT_PRED_FORMAT2(testing::IsSubstring,
                      "there is no CUDA driver: /nowhere.so: cannot open",
                      take(tsr_cuda_device("/nowhere.so", 0, &device)));
  EXPECT_EQ(take(tsr_cuda_device("libm.so.6", 0, &device)),
            "there is no CUDA driver: libm.so.6 has no function cuInit; CUDA "
            "11.4 or newer is needed");
}

} // namespace
