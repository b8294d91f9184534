// When asynchronous operations read, write and signal; see AsyncOps.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/AsyncOps.h"

#include "sim/check/Checker.h"
#include "sim/exec/Mbarrier.h"
#include "sim/exec/Tcgen05.h"
#include "sim/report/Recorder.h"

namespace tessera::sim {

bool AsyncQueue::isLazy() const {
  return block.checker || block.launch->options.adversarial;
}

void AsyncQueue::issue(std::unique_ptr<AsyncOp> op) {
  ++block.events;
  op->issuer = &block;
  if (block.checker)
    block.checker->asyncIssued(*op);
  if (block.recorder)
    block.recorder->issued(*op);
  ops.push_back(std::move(op));
  if (!isLazy())
    complete(ops.size() - 1);
  // Stores that are only waited for until they have read would pile up.
  if (ops.size() > mostInFlight)
    complete(0);
}

void AsyncQueue::read(AsyncOp &op) {
  if (op.hasRead)
    return;
  op.hasRead = true;
  if (op.from == AsyncOp::Nothing || op.from == AsyncOp::Value)
    return;
  size_t bytes = 0;
  for (const AsyncOp::Piece &piece : op.pieces)
    bytes += piece.bytes;
  op.data.resize(bytes);
  uint8_t *to = op.data.data();
  for (const AsyncOp::Piece &piece : op.pieces) {
    if (piece.from == AsyncOp::fill) {
      for (uint32_t b = 0; b < piece.bytes; ++b)
        to[b] = uint8_t(op.fillPattern >> (piece.to + b) % 8 * 8);
      to += piece.bytes;
      continue;
    }
    const uint8_t *from = op.from == AsyncOp::Shared
                              ? block.shared + piece.from
                              : reinterpret_cast<const uint8_t *>(piece.from);
    std::memcpy(to, from, piece.bytes);
    to += piece.bytes;
  }
}

void AsyncQueue::write(AsyncOp &op) {
  const uint8_t *from = op.data.data();
  unsigned width = ptx::typeBytes(op.type);
  for (const AsyncOp::Piece &piece : op.pieces) {
    uint8_t *to = op.to == AsyncOp::Shared
                      ? op.destination->shared + piece.to
                      : reinterpret_cast<uint8_t *>(piece.to);
    if (op.reduces) {
      for (uint32_t b = 0; b < piece.bytes; b += width) {
        uint64_t value = 0;
        std::memcpy(&value, from + b, width);
        if (op.ring)
          applyRing(to + b, op.type, op.op, value);
        else
          applyAtomic(to + b, op.type, op.op, value, 0,
                      op.to == AsyncOp::Global);
      }
    } else if (op.byteMask != 0xffff) {
      for (uint32_t b = 0; b < piece.bytes; ++b)
        if (op.byteMask >> (b & 15) & 1)
          to[b] = from[b];
    } else {
      std::memcpy(to, from, piece.bytes);
    }
    from += piece.bytes;
  }
  for (const PendingCopy &copy : op.copies)
    if (!copy.done)
      performCopy(block, copy);
}

void AsyncQueue::complete(size_t index) {
  // Commits of one thread arrive in order: Triton invalidates mbarriers of
  // earlier ones when it has seen the last one.
  for (size_t k = 0; ops[index]->isCommit && k < index; ++k)
    if (ops[k]->isCommit && ops[k]->thread == ops[index]->thread) {
      AsyncOp *own = ops[index].get();
      complete(k);
      for (index = 0; index < ops.size() && ops[index].get() != own; ++index) {
      }
      if (index == ops.size())
        return; // somebody who waited for the other one completed it
      k = ~size_t(0);
    }
  std::unique_ptr<AsyncOp> op = std::move(ops[index]);
  ops.erase(ops.begin() + long(index));
  read(*op);
  write(*op);
  if (op->isCommit)
    tensorUnit(block).completeUpTo(op->tensorOps);
  if (op->signal != AsyncOp::BulkGroup && block.checker)
    op->target->checker->asyncDone(*op);
  if (op->signal == AsyncOp::CompleteTx)
    mbarrierCompleteTx(*op);
  else if (op->signal == AsyncOp::ArriveOn)
    mbarrierArriveOn(*op);
}

void AsyncQueue::poll() {
  auto &random = block.worker->random;
  // From the back: completing one moves those behind it.
  for (size_t k = ops.size(); k-- > 0;) {
    if (k >= ops.size() || random() % 4)
      continue;
    if (!ops[k]->hasRead && random() % 2)
      read(*ops[k]);
    else
      complete(k);
  }
}

bool AsyncQueue::completeFor(Block &owner, uint32_t mbarrier, uint32_t phase) {
  for (size_t k = 0; k < ops.size();) {
    if (ops[k]->signal == AsyncOp::BulkGroup || ops[k]->target != &owner ||
        ops[k]->mbarrier != mbarrier) {
      ++k;
      continue;
    }
    complete(k);
    if (owner.mbarriers[mbarrier].phase != phase)
      return false;
    k = 0; // more than one may be gone
  }
  return true;
}

bool AsyncQueue::completeOne() {
  if (ops.empty())
    return false;
  complete(block.launch->options.adversarial
               ? block.worker->random() % ops.size()
               : 0);
  return true;
}

void AsyncQueue::waitGroups(uint32_t thread, uint32_t group, bool readOnly) {
  for (size_t k = 0; k < ops.size();) {
    AsyncOp &op = *ops[k];
    if (op.signal != AsyncOp::BulkGroup || op.thread != thread ||
        op.group > group) {
      ++k;
    } else if (readOnly) {
      read(op);
      ++k;
    } else {
      complete(k);
    }
  }
}

void AsyncQueue::completeArrivals(uint32_t thread) {
  for (size_t k = 0; k < ops.size();)
    if (ops[k]->signal == AsyncOp::ArriveOn && !ops[k]->isCommit &&
        ops[k]->thread == thread) {
      if (block.checker)
        block.checker->asyncObserved(*ops[k]);
      complete(k);
    } else {
      ++k;
    }
}

void AsyncQueue::completeAll() {
  while (completeOne()) {
  }
}

uint32_t AsyncQueue::openGroup(uint32_t thread) {
  if (committed.empty())
    committed.resize(block.threads, 0);
  return committed[thread] + 1;
}

void AsyncQueue::commitGroup(uint32_t thread) {
  openGroup(thread);
  ++committed[thread];
}

} // namespace tessera::sim
