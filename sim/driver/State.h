// What the driver library keeps: context, modules, streams, events, graphs.
//
// Work runs when it is given to a stream, on the calling thread; a stream is
// therefore always idle and in order. While a stream is captured its work is
// recorded instead.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/api/Device.h"
#include <functional>
#include <set>

namespace tessera::sim::driver {

using Work = std::function<int()>; // returns a CUresult

enum Result : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  NoBinaryForGpu = 209,
  InvalidPtx = 218,
  InvalidHandle = 400,
  NotFound = 500,
  NotReady = 600,
  IllegalAddress = 700,
  LaunchOutOfResources = 701,
  LaunchTimeout = 702,
  AssertFailed = 710,
  IllegalInstruction = 715,
  MisalignedAddress = 716,
  LaunchFailed = 719,
  NotPermitted = 800,
  NotSupported = 801,
  CaptureInvalidated = 901,
  InvalidClusterSize = 912,
};

struct Module;

struct Function {
  Module *module;
  std::string name;
  /// What cuFuncSetAttribute allows; 0: what static memory leaves of 48 KiB.
  unsigned maxDynamicShared = 0;
  /// cuFuncSetAttribute: more than 8 blocks in a cluster; the size of a
  /// cluster; a launch has to give it.
  bool allowsLargeClusters = false, mustGiveCluster = false;
  unsigned cluster[3] = {0, 0, 0};
};

struct Module {
  std::unique_ptr<LinkedModule> linked;
  std::map<std::string, std::unique_ptr<Function>> functions;
  Function *function(const std::string &name); // null if there is none
};

struct GraphNode {
  int kind; // CUgraphNodeType
  Work work;
  std::vector<GraphNode *> after;
};
struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
};
struct GraphExec {
  std::vector<Work> works; // in an order that respects the edges
};

struct Stream {
  Graph *capturing = nullptr;
  bool originOfCapture = false;
  GraphNode *lastNode = nullptr;
  unsigned flags = 0;
  int priority = 0;
};
struct Event {
  bool recorded = false;
  double time = 0;
  Graph *graph = nullptr; // recorded inside a capture
  GraphNode *node = nullptr;
};

constexpr unsigned maxDevices = 64;

struct State {
  Device &device;
  // The architecture of each simulated GPU; the first is $TESSERA_SIM_ARCH's.
  std::atomic<unsigned> archs[maxDevices] = {80};
  std::atomic<unsigned> deviceCount{1};
  bool check = false, adversarial = false, count = false;
  bool electBySeed = false;
  uint64_t seed = 0;
  unsigned threads = 0;
  std::string reportPath;
  std::atomic<int> stickyError{Success};
  // Held by every call that touches more than its own arguments, and while
  // work runs: kernels run one after the other.
  std::recursive_mutex mutex;
  std::set<Module *> modules;
  std::set<Stream *> streams;
  Stream defaultStream;
  uint64_t totalMemory = 8ull << 30;

  State();
};
State &state();
/// The architecture of the current context's GPU.
unsigned currentArch();
int currentDevice();

/// What one thread's launches are reported to; tessera_sim_driver.h.
struct Session {
  struct Options {
    bool check, count, adversarial, ieee, ring;
    unsigned threads;
    uint64_t seed, maxInstructions;
    double maxSeconds;
    bool electBySeed;
  } options;
  Device device; // sees the driver's memory, and what is exposed here
  std::vector<uint64_t> exposed;
  std::vector<std::string> reports;
  int fault = Success;

  void apply(LaunchOptions &options) const;
};
/// Of this thread; null if there is none.
std::unique_ptr<Session> &session();
/// The fault that later calls of this thread return.
int pendingError();

/// Runs work now, or records it if the stream is captured.
int enqueue(Stream *stream, int nodeKind, Work work);
Stream *streamOf(void *handle);
std::string &lastMessage();
/// True while messages go to the caller, not to standard error.
bool &isQuiet();
/// Remembers a message, prints it on standard error, and returns `code`.
int problem(int code, const std::string &message);
int loadModule(const void *image, Module **out);
/// Loads PTX texts that are linked together.
int loadTexts(std::vector<std::string> texts, Module **out);

struct LaunchRequest {
  Function *function;
  uint32_t grid[3], block[3], cluster[3] = {0, 0, 0};
  uint32_t shared = 0;
  bool cooperative = false;
  bool programmatic = false; // it may overlap with the one before
  std::vector<uint8_t> params;
};
int launch(Stream *stream, LaunchRequest request);
/// The size of a cluster that a launch of `f` gets, given the one it asks for,
/// and whether it is possible; throws ClusterError.
void checkCluster(const Function &f, LaunchOptions &options);
/// Dynamic shared memory that a launch of `f` may have now.
uint32_t maxDynamicShared(const Function &f, uint32_t staticShared);
/// Packs the pointers of `kernelParams` (or the buffer in `extra`).
int packParams(Function *f, void **kernelParams, void **extra,
               std::vector<uint8_t> &out);

} // namespace tessera::sim::driver
