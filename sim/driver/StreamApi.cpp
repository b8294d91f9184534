// Streams, events and graphs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/driver/Api.h"
#include <algorithm>
#include <chrono>

using namespace tessera::sim::driver;

namespace {

double now() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

GraphNode *addNode(Graph *graph, int kind, Work work,
                   GraphNode *const *dependencies, size_t count) {
  auto node = std::make_unique<GraphNode>();
  node->kind = kind;
  node->work = std::move(work);
  node->after.assign(dependencies, dependencies + count);
  graph->nodes.push_back(std::move(node));
  return graph->nodes.back().get();
}

/// An order in which every node comes after those it waits for.
std::vector<Work> sorted(const Graph &graph) {
  std::vector<Work> works;
  std::set<GraphNode *> done;
  while (done.size() < graph.nodes.size()) {
    size_t before = done.size();
    for (const auto &node : graph.nodes) {
      if (done.count(node.get()))
        continue;
      if (std::all_of(node->after.begin(), node->after.end(),
                      [&](GraphNode *n) { return done.count(n); })) {
        done.insert(node.get());
        works.push_back(node->work);
      }
    }
    if (done.size() == before)
      break; // a cycle
  }
  return works;
}

struct KernelNodeParams {
  void *function;
  unsigned grid[3], block[3], shared;
  void **params, **extra;
  void *kernel, *context;
};

int kernelWork(const KernelNodeParams *p, Work &work) {
  auto *f = static_cast<Function *>(p->function ? p->function : p->kernel);
  LaunchRequest r{f,
                  {p->grid[0], p->grid[1], p->grid[2]},
                  {p->block[0], p->block[1], p->block[2]}};
  r.shared = p->shared;
  if (int code = packParams(f, p->params, p->extra, r.params))
    return code;
  work = [r] { return launch(&state().defaultStream, r); };
  return Success;
}

} // namespace

CU cuStreamCreate(void **out, unsigned flags) {
  LOCKED;
  auto *s = new Stream();
  s->flags = flags;
  state().streams.insert(s);
  *out = s;
  return Success;
}
CU cuStreamCreateWithPriority(void **out, unsigned flags, int priority) {
  LOCKED;
  int code = cuStreamCreate(out, flags);
  static_cast<Stream *>(*out)->priority = priority;
  return code;
}
CU cuStreamDestroy_v2(void *handle) {
  LOCKED;
  Stream *s = streamOf(handle);
  if (!s || s == &state().defaultStream)
    return InvalidHandle;
  state().streams.erase(s);
  delete s;
  return Success;
}
CU cuStreamSynchronize(void *handle) {
  LOCKED;
  return streamOf(handle) ? pendingError() : int(InvalidHandle);
}
CU cuStreamQuery(void *handle) { return cuStreamSynchronize(handle); }
CU cuStreamGetFlags(void *handle, unsigned *flags) {
  LOCKED;
  *flags = streamOf(handle)->flags;
  return Success;
}
CU cuStreamGetPriority(void *handle, int *priority) {
  LOCKED;
  *priority = streamOf(handle)->priority;
  return Success;
}
CU cuStreamGetId(void *handle, unsigned long long *id) {
  LOCKED;
  *id = reinterpret_cast<unsigned long long>(handle);
  return Success;
}
CU cuStreamAddCallback(void *handle, void (*callback)(void *, int, void *),
                       void *data, unsigned) {
  LOCKED;
  return enqueue(streamOf(handle), 3, [=] {
    callback(handle, pendingError(), data);
    return int(Success);
  });
}
CU cuStreamAttachMemAsync(void *, DevicePtr, size_t, unsigned) {
  LOCKED;
  return Success;
}
CU cuStreamWaitEvent(void *handle, void *event, unsigned) {
  LOCKED;
  Stream *s = streamOf(handle);
  auto *e = static_cast<Event *>(event);
  if (!s || !e)
    return InvalidHandle;
  if (e->graph) { // joins the capture the event was recorded in
    if (!s->capturing) {
      s->capturing = e->graph;
      s->lastNode = e->node;
    } else if (e->node && e->node != s->lastNode) {
      GraphNode *both[2] = {e->node, s->lastNode};
      s->lastNode = addNode(
          s->capturing, 5, [] { return int(Success); }, both,
          s->lastNode ? 2 : 1);
    }
  }
  return Success;
}

CU cuEventCreate(void **out, unsigned) {
  LOCKED;
  *out = new Event();
  return Success;
}
CU cuEventDestroy_v2(void *event) {
  LOCKED;
  delete static_cast<Event *>(event);
  return Success;
}
CU cuEventRecord(void *event, void *handle) {
  LOCKED;
  auto *e = static_cast<Event *>(event);
  Stream *s = streamOf(handle);
  if (!e || !s)
    return InvalidHandle;
  e->graph = s->capturing;
  e->node = s->lastNode;
  e->recorded = true;
  e->time = now();
  return Success;
}
CU cuEventRecordWithFlags(void *event, void *handle, unsigned) {
  LOCKED;
  return cuEventRecord(event, handle);
}
CU cuEventSynchronize(void *event) {
  LOCKED;
  return event ? pendingError() : int(InvalidHandle);
}
CU cuEventQuery(void *event) { return cuEventSynchronize(event); }
/// Wall time of the simulation, which says nothing about a GPU.
CU cuEventElapsedTime_v2(float *ms, void *start, void *end) {
  LOCKED;
  auto *a = static_cast<Event *>(start), *b = static_cast<Event *>(end);
  if (!a->recorded || !b->recorded)
    return InvalidHandle;
  *ms = float(b->time - a->time);
  return Success;
}
CU cuEventElapsedTime(float *ms, void *start, void *end) {
  LOCKED;
  return cuEventElapsedTime_v2(ms, start, end);
}

CU cuStreamBeginCapture_v2(void *handle, int) {
  LOCKED;
  Stream *s = streamOf(handle);
  if (!s || s->capturing)
    return InvalidHandle;
  s->capturing = new Graph();
  s->originOfCapture = true;
  s->lastNode = nullptr;
  return Success;
}
CU cuStreamEndCapture(void *handle, void **graph) {
  LOCKED;
  Stream *s = streamOf(handle);
  if (!s || !s->capturing || !s->originOfCapture)
    return CaptureInvalidated;
  Graph *g = s->capturing;
  *graph = g;
  for (Stream *other : state().streams)
    if (other->capturing == g) {
      other->capturing = nullptr;
      other->lastNode = nullptr;
    }
  state().defaultStream.capturing = state().defaultStream.capturing == g
                                        ? nullptr
                                        : state().defaultStream.capturing;
  s->capturing = nullptr;
  s->originOfCapture = false;
  s->lastNode = nullptr;
  return Success;
}
CU cuStreamIsCapturing(void *handle, int *status) {
  LOCKED;
  *status = streamOf(handle)->capturing ? 1 : 0;
  return Success;
}
CU cuStreamGetCaptureInfo_v2(void *handle, int *status, unsigned long long *id,
                             void **graph, const void **dependencies,
                             size_t *count) {
  LOCKED;
  Stream *s = streamOf(handle);
  *status = s->capturing ? 1 : 0;
  if (id)
    *id = reinterpret_cast<unsigned long long>(s->capturing);
  if (graph)
    *graph = s->capturing;
  if (dependencies)
    *dependencies = &s->lastNode;
  if (count)
    *count = s->lastNode ? 1 : 0;
  return Success;
}
CU cuThreadExchangeStreamCaptureMode(int *) { return Success; }

CU cuGraphCreate(void **out, unsigned) {
  LOCKED;
  *out = new Graph();
  return Success;
}
CU cuGraphDestroy(void *graph) {
  LOCKED;
  delete static_cast<Graph *>(graph);
  return Success;
}
CU cuGraphGetNodes(void *graph, void **nodes, size_t *count) {
  LOCKED;
  auto *g = static_cast<Graph *>(graph);
  if (nodes)
    for (size_t k = 0; k < std::min(*count, g->nodes.size()); ++k)
      nodes[k] = g->nodes[k].get();
  *count = g->nodes.size();
  return Success;
}
CU cuGraphAddKernelNode_v2(void **out, void *graph, void *const *dependencies,
                           size_t count, const void *params) {
  LOCKED;
  Work work;
  if (int code =
          kernelWork(static_cast<const KernelNodeParams *>(params), work))
    return code;
  *out = addNode(static_cast<Graph *>(graph), 0, work,
                 reinterpret_cast<GraphNode *const *>(dependencies), count);
  return Success;
}
CU cuGraphAddEmptyNode(void **out, void *graph, void *const *dependencies,
                       size_t count) {
  LOCKED;
  *out = addNode(
      static_cast<Graph *>(graph), 5, [] { return int(Success); },
      reinterpret_cast<GraphNode *const *>(dependencies), count);
  return Success;
}
CU cuGraphAddHostNode(void **out, void *graph, void *const *dependencies,
                      size_t count, const void *params) {
  LOCKED;
  struct HostParams {
    void (*function)(void *);
    void *data;
  } p = *static_cast<const HostParams *>(params);
  *out = addNode(
      static_cast<Graph *>(graph), 3,
      [p] {
        p.function(p.data);
        return int(Success);
      },
      reinterpret_cast<GraphNode *const *>(dependencies), count);
  return Success;
}
CU cuGraphAddDependencies(void *, void *const *from, void *const *to,
                          size_t count) {
  LOCKED;
  for (size_t k = 0; k < count; ++k)
    static_cast<GraphNode *>(to[k])->after.push_back(
        static_cast<GraphNode *>(from[k]));
  return Success;
}
CU cuGraphInstantiateWithFlags(void **out, void *graph, unsigned long long) {
  LOCKED;
  auto *exec = new GraphExec();
  exec->works = sorted(*static_cast<Graph *>(graph));
  *out = exec;
  return Success;
}
CU cuGraphInstantiate_v2(void **out, void *graph, void *, char *, size_t) {
  LOCKED;
  return cuGraphInstantiateWithFlags(out, graph, 0);
}
CU cuGraphExecUpdate_v2(void *exec, void *graph, void *info) {
  LOCKED;
  static_cast<GraphExec *>(exec)->works = sorted(*static_cast<Graph *>(graph));
  if (info)
    *static_cast<int *>(info) = 0;
  return Success;
}
CU cuGraphUpload(void *, void *) { return Success; }
CU cuGraphLaunch(void *exec, void *handle) {
  LOCKED;
  auto works = static_cast<GraphExec *>(exec)->works;
  return enqueue(streamOf(handle), 4, [works] {
    for (const Work &work : works)
      if (int code = work())
        return code;
    return int(Success);
  });
}
CU cuGraphExecDestroy(void *exec) {
  LOCKED;
  delete static_cast<GraphExec *>(exec);
  return Success;
}

// Used by the runtime library to add copies and fills to graphs.
extern "C" __attribute__((visibility("default"))) void *
tessera_sim_graph_node(void *graph, int kind, void *const *dependencies,
                       size_t count, int (*work)(void *), void *data) {
  return addNode(
      static_cast<Graph *>(graph), kind, [work, data] { return work(data); },
      reinterpret_cast<GraphNode *const *>(dependencies), count);
}
// Loads PTX texts that are linked together (-rdc programs).
CU tessera_sim_load_texts(const char *const *texts, size_t count,
                          void **module) {
  LOCKED;
  return loadTexts(std::vector<std::string>(texts, texts + count),
                   reinterpret_cast<Module **>(module));
}
