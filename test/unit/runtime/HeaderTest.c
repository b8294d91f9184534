/* The C header as a stranger's C11 program uses it.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tessera-c/device.h"
#include <stdio.h>
#include <string.h>

static int32_t twice(void *const *pointers, const int64_t *integers,
                     int64_t begin, int64_t end, void *scratch) {
  float *x = (float *)pointers[0];
  (void)scratch;
  for (int64_t i = begin; i < end; ++i)
    x[i * integers[1]] *= 2;
  return 0;
}

int main(void) {
  const char *text = "tessera.plan 1\n"
                     "function twice\n"
                     "target cpu 1\n"
                     "arg %x inout f32 [$N]\n"
                     "body\n"
                     "  launch @twice(%x) grid $N\n"
                     "end\n";
  float x[3] = {1, 2, 3};
  int64_t sizes[1] = {3};
  tsr_symbol symbol = {"twice", twice};
  tsr_tensor tensor = {x, sizes, NULL, TSR_F32, 1};
  tsr_call call = {sizeof call, &tensor, NULL, 1, 0, NULL, NULL, NULL, NULL, 0};
  tsr_plan *plan = NULL;
  tsr_executable *executable = NULL;
  tsr_status status = tsr_plan_parse(text, strlen(text), &plan);
  if (!status)
    status = tsr_executable_create(plan, &symbol, 1, &executable);
  if (!status)
    status = tsr_executable_run(executable, &call);
  if (status)
    puts(tsr_status_message(status));
  int ok = !status && x[0] == 2 && x[1] == 4 && x[2] == 6;
  tsr_status_free(status);
  tsr_executable_free(executable);
  tsr_plan_free(plan);
  return ok ? 0 : 1;
}
