// Launches, function attributes, occupancy and graphs of the runtime API.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/cudart/Runtime.h"
#include <algorithm>
#include <cstring>

using namespace tessera::sim::cudart;

/// The runtime has an error of its own for grids and blocks that no GPU has.
static int ofConfiguration(int code, dim3 g, dim3 b) {
  const unsigned sizes[] = {b.x, b.y, b.z, g.x, g.y, g.z};
  int most = 0;
  cuDeviceGetAttribute(&most, 1, 0);
  bool bad = uint64_t(b.x) * b.y * b.z > unsigned(most);
  for (int k = 0; k < 6; ++k) {
    cuDeviceGetAttribute(&most, 2 + k, 0);
    bad |= !sizes[k] || sizes[k] > unsigned(most);
  }
  return code == 1 && bad ? 9 : code; // cudaErrorInvalidConfiguration
}
/// Sizes that do not fit the driver's type are too large in any case.
static unsigned narrowed(size_t bytes) {
  return unsigned(std::min<size_t>(bytes, ~0u));
}
int tessera::sim::cudart::launch(void *f, dim3 g, dim3 b, void **arguments,
                                 size_t shared, void *stream) {
  return record(ofConfiguration(cuLaunchKernel(f, g.x, g.y, g.z, b.x, b.y, b.z,
                                               narrowed(shared), stream,
                                               arguments, nullptr),
                                g, b));
}

RT int cudaLaunchKernel(const void *host, dim3 g, dim3 b, void **arguments,
                        size_t shared, void *stream) {
  int error = 0;
  void *f = kernelOf(host, &error);
  return f ? launch(f, g, b, arguments, shared, stream) : record(error);
}
RT int cudaLaunchCooperativeKernel(const void *host, dim3 g, dim3 b,
                                   void **arguments, size_t shared,
                                   void *stream) {
  int error = 0;
  void *f = kernelOf(host, &error);
  if (!f)
    return record(error);
  return record(ofConfiguration(
      cuLaunchCooperativeKernel(f, g.x, g.y, g.z, b.x, b.y, b.z,
                                narrowed(shared), stream, arguments),
      g, b));
}

namespace {
struct Configuration {
  dim3 grid, block;
  size_t shared;
  void *stream;
  void *attributes;
  unsigned count;
};
struct DriverConfiguration {
  unsigned grid[3], block[3], shared;
  void *stream, *attributes;
  unsigned count;
};
DriverConfiguration forDriver(const void *configuration) {
  const auto *c = static_cast<const Configuration *>(configuration);
  return {{c->grid.x, c->grid.y, c->grid.z},
          {c->block.x, c->block.y, c->block.z},
          narrowed(c->shared),
          c->stream,
          c->attributes,
          c->count};
}
} // namespace

RT int cudaLaunchKernelExC(const void *configuration, const void *host,
                           void **arguments) {
  const auto *c = static_cast<const Configuration *>(configuration);
  int error = 0;
  void *f = kernelOf(host, &error);
  if (!f)
    return record(error);
  DriverConfiguration d = forDriver(configuration);
  return record(ofConfiguration(cuLaunchKernelEx(&d, f, arguments, nullptr),
                                c->grid, c->block));
}
RT int cudaGetFuncBySymbol(void **out, const void *host) {
  int error = 0;
  *out = kernelOf(host, &error);
  return record(error);
}
RT int cudaGetKernel(void **out, const void *host) {
  return cudaGetFuncBySymbol(out, host);
}

RT int cudaFuncGetAttributes(void *out, const void *host) {
  int error = 0;
  void *f = kernelOf(host, &error);
  if (!f)
    return record(error);
  struct Attributes {
    size_t shared, constants, local;
    int maxThreads, registers, ptxVersion, binaryVersion, cacheMode,
        maxDynamicShared, carveout, mustGiveCluster, cluster[3], policy,
        allowsLargeClusters, rest[15];
  } *a = static_cast<Attributes *>(out);
  std::memset(a, 0, offsetof(Attributes, rest));
  int value = 0;
  if (int code = cuFuncGetAttribute(&value, 1, f))
    return record(code);
  a->shared = value;
  cuFuncGetAttribute(&a->maxThreads, 0, f);
  cuFuncGetAttribute(&a->registers, 4, f);
  cuFuncGetAttribute(&a->ptxVersion, 5, f);
  cuFuncGetAttribute(&a->binaryVersion, 6, f);
  cuFuncGetAttribute(&a->maxDynamicShared, 8, f);
  cuFuncGetAttribute(&a->mustGiveCluster, 10, f);
  for (int d = 0; d < 3; ++d)
    cuFuncGetAttribute(&a->cluster[d], 11 + d, f);
  cuFuncGetAttribute(&a->allowsLargeClusters, 14, f);
  return 0;
}
RT int cudaFuncSetAttribute(const void *host, int attribute, int value) {
  int error = 0;
  void *f = kernelOf(host, &error);
  if (!f)
    return record(error);
  return record(cuFuncSetAttribute(f, attribute, value));
}
RT int cudaFuncSetCacheConfig(const void *, int) { return 0; }
RT int cudaFuncGetName(const char **name, const void *host) {
  int error = 0;
  void *f = kernelOf(host, &error);
  return record(f ? cuFuncGetName(name, f) : error);
}

RT int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, const void *host, int threads, size_t shared, unsigned flags) {
  int error = 0;
  void *f = kernelOf(host, &error);
  if (!f)
    return record(error);
  return record(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      blocks, f, threads, shared, flags));
}
RT int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                     const void *host,
                                                     int threads,
                                                     size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      blocks, host, threads, shared, 0);
}

/// What `query` of the driver says of a kernel in this configuration.
template <typename Query>
static int askOfClusters(Query query, int *answer, const void *host,
                         const void *configuration) {
  int error = 0;
  void *f = kernelOf(host, &error);
  if (!f)
    return record(error);
  DriverConfiguration d = forDriver(configuration);
  return record(query(answer, f, &d));
}
RT int cudaOccupancyMaxActiveClusters(int *clusters, const void *host,
                                      const void *configuration) {
  return askOfClusters(cuOccupancyMaxActiveClusters, clusters, host,
                       configuration);
}
RT int cudaOccupancyMaxPotentialClusterSize(int *size, const void *host,
                                            const void *configuration) {
  return askOfClusters(cuOccupancyMaxPotentialClusterSize, size, host,
                       configuration);
}

// Graphs.
RT int cudaStreamBeginCapture(void *s, int mode) {
  return record(cuStreamBeginCapture_v2(s, mode));
}
RT int cudaStreamEndCapture(void *s, void **graph) {
  return record(cuStreamEndCapture(s, graph));
}
RT int cudaStreamIsCapturing(void *s, int *status) {
  return record(cuStreamIsCapturing(s, status));
}
RT int cudaStreamGetCaptureInfo(void *s, int *status, unsigned long long *id,
                                void **graph, const void **dependencies,
                                const void **edges, size_t *count) {
  if (edges)
    *edges = nullptr;
  return record(
      cuStreamGetCaptureInfo_v2(s, status, id, graph, dependencies, count));
}
RT int cudaThreadExchangeStreamCaptureMode(int *) { return 0; }
RT int cudaGraphCreate(void **graph, unsigned flags) {
  return record(cuGraphCreate(graph, flags));
}
RT int cudaGraphDestroy(void *graph) { return record(cuGraphDestroy(graph)); }
RT int cudaGraphGetNodes(void *graph, void **nodes, size_t *count) {
  return record(cuGraphGetNodes(graph, nodes, count));
}
RT int cudaGraphInstantiate(void **exec, void *graph,
                            unsigned long long flags) {
  return record(cuGraphInstantiateWithFlags(exec, graph, flags));
}
RT int cudaGraphInstantiateWithFlags(void **exec, void *graph,
                                     unsigned long long flags) {
  return record(cuGraphInstantiateWithFlags(exec, graph, flags));
}
RT int cudaGraphExecUpdate(void *exec, void *graph, void *info) {
  return record(cuGraphExecUpdate_v2(exec, graph, info));
}
RT int cudaGraphLaunch(void *exec, void *stream) {
  return record(cuGraphLaunch(exec, stream));
}
RT int cudaGraphUpload(void *, void *) { return 0; }
RT int cudaGraphExecDestroy(void *exec) {
  return record(cuGraphExecDestroy(exec));
}
RT int cudaGraphAddKernelNode(void **node, void *graph,
                              void *const *dependencies, size_t count,
                              const void *params) {
  struct Params {
    void *host;
    dim3 grid, block;
    unsigned shared;
    void **arguments, **extra;
  };
  const auto *p = static_cast<const Params *>(params);
  int error = 0;
  void *f = kernelOf(p->host, &error);
  if (!f)
    return record(error);
  struct {
    void *function;
    unsigned grid[3], block[3], shared;
    void **arguments, **extra;
    void *kernel, *context;
  } d = {f,
         {p->grid.x, p->grid.y, p->grid.z},
         {p->block.x, p->block.y, p->block.z},
         p->shared,
         p->arguments,
         p->extra,
         nullptr,
         nullptr};
  return record(cuGraphAddKernelNode_v2(node, graph, dependencies, count, &d));
}
RT int cudaGraphAddEmptyNode(void **node, void *graph,
                             void *const *dependencies, size_t count) {
  return record(cuGraphAddEmptyNode(node, graph, dependencies, count));
}
RT int cudaGraphAddHostNode(void **node, void *graph, void *const *dependencies,
                            size_t count, const void *params) {
  return record(cuGraphAddHostNode(node, graph, dependencies, count, params));
}
RT int cudaGraphAddMemcpyNode1D(void **node, void *graph,
                                void *const *dependencies, size_t count,
                                void *to, const void *from, size_t n, int) {
  struct Copy {
    void *to;
    const void *from;
    size_t n;
  };
  *node = tessera_sim_graph_node(
      graph, 1, dependencies, count,
      [](void *data) {
        auto *c = static_cast<Copy *>(data);
        return cuMemcpyAsync(reinterpret_cast<DevicePtr>(c->to),
                             reinterpret_cast<DevicePtr>(c->from), c->n,
                             nullptr);
      },
      new Copy{to, from, n});
  return 0;
}
RT int cudaGraphAddMemsetNode(void **node, void *graph,
                              void *const *dependencies, size_t count,
                              const void *params) {
  struct Params {
    void *to;
    size_t pitch;
    unsigned value, elementSize;
    size_t width, height;
  };
  *node = tessera_sim_graph_node(
      graph, 2, dependencies, count,
      [](void *data) {
        auto *p = static_cast<Params *>(data);
        for (size_t row = 0; row < p->height; ++row) {
          auto *at = static_cast<char *>(p->to) + row * p->pitch;
          // The driver fills bytes; wider patterns are copied.
          for (size_t k = 0; k < p->width; ++k)
            if (int code = cuMemcpyAsync(
                    reinterpret_cast<DevicePtr>(at + k * p->elementSize),
                    reinterpret_cast<DevicePtr>(&p->value), p->elementSize,
                    nullptr))
              return code;
        }
        return 0;
      },
      new Params(*static_cast<const Params *>(params)));
  return 0;
}
RT int cudaGraphAddDependencies(void *graph, void *const *from, void *const *to,
                                const void *, size_t count) {
  return record(cuGraphAddDependencies(graph, from, to, count));
}
