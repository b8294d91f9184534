// The kernels of a plan on one GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_RUNTIME_CUDAMODULE_H
#define TESSERA_RUNTIME_CUDAMODULE_H

#include "runtime/CudaDevice.h"
#include "runtime/Plan.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::runtime {

struct CudaImage {
  CudaArch arch;
  std::string data; // ends with a zero, as PTX must

  bool isCubin() const {
    return data.compare(0, 4,
                        "\x7f"
                        "ELF") == 0;
  }
};

/// Of what an image is made, and where that runs: cubins on the same major and
/// no older minor, PTX on everything newer; `a` on its own architecture only,
/// `f` on its family.
bool fits(CudaArch image, bool isCubin, CudaArch device);

class CudaModule {
public:
  ~CudaModule();
  CudaModule(const CudaModule &) = delete;
  CudaModule &operator=(const CudaModule &) = delete;

  /// Takes the best image that the driver accepts and finds every kernel.
  static tsr_status load(const Plan &plan, const std::vector<CudaImage> &images,
                         CudaDevice &device, std::unique_ptr<CudaModule> &out);

  CudaResult launch(const Launch &launch, unsigned grid, void **parameters,
                    void *stream) const {
    // Up to 48 KiB are part of the kernel (docs/abi.md, section 7).
    int dynamic = launch.shared > staticShared ? launch.shared : 0;
    return device.driver->launchKernel(
        functions[static_cast<size_t>(launch.kernel)], grid, 1, 1,
        static_cast<unsigned>(launch.block), 1, 1,
        static_cast<unsigned>(dynamic), stream, parameters, nullptr);
  }

  static constexpr int32_t staticShared = 48 << 10;
  CudaDevice &device;

private:
  explicit CudaModule(CudaDevice &device) : device(device) {}
  tsr_status bind(const Plan &plan);

  void *module = nullptr;
  std::vector<void *> functions; // as the plan lists them
};

} // namespace tessera::runtime

#endif
