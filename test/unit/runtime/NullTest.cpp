// NULL where something must be given is an error value, never a crash.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RunPlan.h"
#include "tessera-c/device.h"
#include "tessera-c/roofline.h"
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::test;

static int32_t nothing(void *const *, const int64_t *, int64_t, int64_t,
                       void *) {
  return 0;
}

static const std::string plan =
    head + "arg %x in f32 [$N]\narg $s i64\nresult %z f32 [$N]\nbody\n"
           "launch @nothing(%x, %z) grid $N\nend\n";

/// The message of an error, which is given back.
static std::string take(tsr_status status) {
  std::string message = tsr_status_message(status);
  EXPECT_EQ(tsr_status_code(status), TSR_INVALID_ARGUMENT);
  tsr_status_free(status);
  return message;
}

class Null : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(
        tsr_status_code(tsr_plan_parse(plan.data(), plan.size(), &parsed)),
        TSR_OK);
    ASSERT_EQ(
        tsr_status_code(tsr_executable_create(parsed, &symbol, 1, &executable)),
        TSR_OK);
  }
  void TearDown() override {
    tsr_executable_free(executable);
    tsr_plan_free(parsed);
  }

  tsr_symbol symbol = {"nothing", nothing};
  tsr_plan *parsed = nullptr;
  tsr_executable *executable = nullptr;
};

TEST_F(Null, Calls) {
  int64_t size = 4, scalar = 1;
  float x[4], z[4];
  tsr_tensor tensors[] = {{x, &size, nullptr, TSR_F32, 1},
                          {z, &size, nullptr, TSR_F32, 1}};
  tsr_call call{};
  call.struct_size = sizeof call;
  call.num_tensors = 2;
  call.num_scalars = 1;
  EXPECT_EQ(take(tsr_executable_run(executable, nullptr)),
            "tsr_executable_run: call is NULL");
  EXPECT_EQ(take(tsr_executable_run(nullptr, &call)),
            "tsr_executable_run: executable is NULL");
  EXPECT_EQ(take(tsr_executable_run(executable, &call)),
            "f: call->tensors is NULL");
  call.tensors = tensors;
  EXPECT_EQ(take(tsr_executable_run(executable, &call)),
            "f: call->scalars is NULL");
  call.scalars = &scalar;
  tensors[1].sizes = nullptr;
  EXPECT_EQ(take(tsr_executable_run(executable, &call)),
            "z has rank 1, but its sizes are NULL");
  tensors[1].sizes = &size;
  tensors[0].data = nullptr;
  EXPECT_EQ(take(tsr_executable_run(executable, &call)),
            "x has elements but no data pointer");
  tensors[0].data = x;
  EXPECT_EQ(tsr_status_code(tsr_executable_run(executable, &call)), TSR_OK);
}

TEST_F(Null, Functions) {
  tsr_guard guard = {0, TSR_FIELD_SIZE, 0, -1, 4};
  tsr_version version = {plan.data(), plan.size(), &symbol, 1, &guard, 1};
  tsr_executable *made = nullptr;
  tsr_function function = {sizeof function, "f",     &version,        1,
                           &made,           nullptr, TSR_GUARD_FORMAT};
  int64_t scalar = 1;
  tsr_tensor tensors[2] = {{nullptr, nullptr, nullptr, TSR_F32, 1},
                           {nullptr, nullptr, nullptr, TSR_F32, 1}};
  tsr_call call{};
  call.struct_size = sizeof call;
  call.num_tensors = 2;
  call.num_scalars = 1;
  call.scalars = &scalar;
  EXPECT_EQ(take(tsr_function_run(nullptr, &call)),
            "tsr_function_run: function is NULL");
  EXPECT_EQ(take(tsr_function_run(&function, nullptr)),
            "tsr_function_run: call is NULL");
  EXPECT_EQ(take(tsr_function_run(&function, &call)),
            "tsr_function_run: call->tensors is NULL");
  call.tensors = tensors;
  EXPECT_EQ(take(tsr_function_run(&function, &call)),
            "x has rank 1, but its sizes are NULL");
  tsr_executable_free(made);
  function.guard_format = 1;
  tsr_status status = tsr_function_run(&function, &call);
  EXPECT_EQ(tsr_status_code(status), TSR_UNSUPPORTED);
  EXPECT_STREQ(tsr_status_message(status),
               "f: this library was built by another version of Tessera; build "
               "it again");
  tsr_status_free(status);
}

TEST_F(Null, PlansAndExecutables) {
  tsr_executable *other = nullptr;
  const char *name;
  int32_t dtype;
  tsr_tensor_info info{};
  EXPECT_EQ(take(tsr_plan_parse(nullptr, 0, &parsed)),
            "tsr_plan_parse: text is NULL");
  EXPECT_EQ(take(tsr_plan_parse("", 0, nullptr)),
            "tsr_plan_parse: plan is NULL");
  EXPECT_EQ(take(tsr_plan_tensor(nullptr, 0, &info)),
            "tsr_plan_tensor: plan is NULL");
  EXPECT_EQ(take(tsr_plan_tensor(parsed, 0, nullptr)),
            "tsr_plan_tensor: info is NULL");
  EXPECT_EQ(take(tsr_plan_scalar(nullptr, 0, &name, &dtype)),
            "tsr_plan_scalar: plan is NULL");
  EXPECT_EQ(take(tsr_executable_create(nullptr, &symbol, 1, &other)),
            "tsr_executable_create: plan is NULL");
  EXPECT_EQ(take(tsr_executable_create(parsed, nullptr, 1, &other)),
            "tsr_executable_create: symbols is NULL");
  EXPECT_EQ(take(tsr_executable_create_lazy(parsed, nullptr, nullptr, &other)),
            "tsr_executable_create_lazy: resolve is NULL");
  EXPECT_EQ(take(tsr_executable_create(parsed, &symbol, 1, nullptr)),
            "tsr_executable_create: executable is NULL");
  EXPECT_EQ(tsr_plan_function(nullptr), nullptr);
  EXPECT_EQ(tsr_plan_num_tensors(nullptr) + tsr_plan_num_scalars(nullptr) +
                tsr_plan_num_kernels(nullptr) + tsr_plan_scratch(nullptr),
            0);
  EXPECT_EQ(tsr_plan_kernel(nullptr, 0), nullptr);
  tsr_plan_free(nullptr);
  tsr_executable_free(nullptr);
  tsr_constant_free(nullptr);
}

TEST(NullDevice, EveryFunction) {
  void *handle = nullptr;
  float time;
  tsr_device_info info{};
  tsr_memory_stats stats{};
  EXPECT_EQ(take(tsr_cuda_device("nowhere", 0, nullptr)),
            "tsr_cuda_device: device is NULL");
  EXPECT_EQ(take(tsr_cuda_device_count("nowhere", nullptr)),
            "tsr_cuda_device_count: count is NULL");
  for (tsr_status status :
       {tsr_device_get_info(nullptr, &info),
        tsr_device_allocate(nullptr, 1, nullptr, &handle),
        tsr_device_copy(nullptr, nullptr, nullptr, 0, nullptr),
        tsr_device_get_memory_stats(nullptr, &stats),
        tsr_device_release_cached_memory(nullptr),
        tsr_stream_create(nullptr, &handle),
        tsr_stream_synchronize(nullptr, nullptr),
        tsr_stream_wait(nullptr, nullptr, nullptr),
        tsr_event_create(nullptr, &handle),
        tsr_event_record(nullptr, nullptr, nullptr),
        tsr_event_synchronize(nullptr, nullptr),
        tsr_event_elapsed(nullptr, nullptr, nullptr, &time),
        tsr_images_fit(nullptr, 0, nullptr)})
    EXPECT_NE(take(status).find("device is NULL"), std::string::npos);
  tsr_device_deallocate(nullptr, nullptr, nullptr);
  tsr_stream_destroy(nullptr, nullptr);
  tsr_event_destroy(nullptr, nullptr);
  tsr_device_set_memory_cache_limit(nullptr, 0);
}

TEST(NullMemory, ConstantsAndStatistics) {
  void *memory = nullptr;
  EXPECT_EQ(take(tsr_constant_create(nullptr, 8, &memory)),
            "tsr_constant_create: data is NULL");
  EXPECT_EQ(take(tsr_constant_create("", 0, nullptr)),
            "tsr_constant_create: memory is NULL");
  EXPECT_EQ(tsr_status_code(tsr_constant_create(nullptr, 0, &memory)), TSR_OK);
  tsr_constant_free(memory);
  tsr_get_memory_stats(nullptr);
  tsr_status made = tsr_status_create(TSR_INTERNAL, nullptr);
  EXPECT_STREQ(tsr_status_message(made), "");
  tsr_status_free(made);
}
