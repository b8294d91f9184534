//===- ProtocolState.cpp - What threads may do to a block's memory --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Tile/Analysis/ProtocolState.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Path.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static std::string nameOf(Location loc, StringRef otherwise) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().str();
  return otherwise.str();
}

std::string tessera::tile::lineOf(Location loc) {
  std::string found = "?";
  loc->walk([&](Location inner) {
    auto file = dyn_cast<FileLineColLoc>(inner);
    if (!file)
      return WalkResult::advance();
    found = llvm::sys::path::filename(file.getFilename().strref()).str() + ":" +
            std::to_string(file.getLine()) + ":" +
            std::to_string(file.getColumn());
    return WalkResult::interrupt();
  });
  return found;
}

ProtocolMemory::ProtocolMemory(FuncOp kernel) {
  // Arrays that are written and read; of others no order matters.
  llvm::SmallPtrSet<Value, 4> written, loaded;
  kernel.walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](AllocOp alloc) {
          BufferType type = alloc.getBuffer().getType();
          std::string name = nameOf(alloc.getLoc(), "the buffer");
          int64_t slots = type.getShape().size() > 2 ? type.getShape()[0] : 1;
          int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
          for (int64_t size : type.getShape())
            bytes *= size;
          int64_t at = alloc.getOffset().value_or(0), each = bytes / slots;
          ofBuffer[alloc] = {int(objects.size()), slots};
          for (int64_t slot = 0; slot < slots; ++slot, at += each)
            objects.push_back(
                {slots > 1 ? name + " slot " + std::to_string(slot) : name,
                 true, at, at + each});
        })
        .Case([&](WaitOp wait) {
          mostPending = std::max<int64_t>(mostPending, wait.getPending());
        })
        .Case([&](StoreOp store) { written.insert(store.getView()); })
        .Case([&](AtomicOp atomic) { written.insert(atomic.getView()); })
        .Case([&](LoadOp load) { loaded.insert(load.getView()); })
        .Case([&](CpAsyncOp copy) { loaded.insert(copy.getView()); });
    if (ExchangeAttr exchange = getExchange(op)) {
      ofScratch[op] = int(objects.size());
      int64_t at = exchange.getOffset().value_or(0);
      objects.push_back({"the scratch memory of " +
                             nameOf(op->getLoc(), op->getName().getStringRef()),
                         true, at, at + exchange.getBytes()});
    }
  });
  for (Value view : kernel.getBody().getArguments())
    if (written.contains(view) && loaded.contains(view)) {
      ofView[view] = int(objects.size());
      StringRef given =
          kernel.getArgName(cast<BlockArgument>(view).getArgNumber());
      std::string name =
          given.empty() ? nameOf(view.getLoc(), "an array") : given.str();
      objects.push_back({name, false, 0, 0});
    }
  for (auto [i, one] : llvm::enumerate(objects)) {
    overlaps.emplace_back();
    for (auto [j, other] : llvm::enumerate(objects))
      if (i == j || (one.shared && other.shared && one.begin < other.end &&
                     other.begin < one.end))
        overlaps.back().push_back(int(j));
  }
  kernel.walk([&](Operation *op) {
    if (auto copy = dyn_cast<CpAsyncOp>(op))
      track(copy.getSlot());
    else if (auto load = dyn_cast<LocalLoadOp>(op))
      track(load.getSlot());
    else if (auto store = dyn_cast<LocalStoreOp>(op))
      track(store.getSlot());
  });
}

/// What the number is computed from, through what loops carry.
void ProtocolMemory::track(Value value) {
  if (!value || !value.getType().isIntOrIndex() ||
      !tracked.insert(value).second)
    return;
  auto carried = [&](Operation *loop, unsigned number) {
    if (auto one = dyn_cast<ForOp>(loop)) {
      track(one.getCarried()[number]);
      track(one.getInits()[number]);
      track(one.getBody().front().getTerminator()->getOperand(number));
    } else if (auto one = dyn_cast<scf::ForOp>(loop)) {
      track(one.getRegionIterArg(number));
      track(one.getInitArgs()[number]);
      track(one.getYieldedValues()[number]);
    } else if (auto one = dyn_cast<scf::IfOp>(loop)) {
      for (Region &region : one->getRegions())
        if (!region.empty())
          track(region.front().getTerminator()->getOperand(number));
    }
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *owner = argument.getOwner()->getParentOp();
    if (isa<ForOp, scf::ForOp>(owner) && argument.getArgNumber() > 0)
      carried(owner, argument.getArgNumber() - 1);
    return;
  }
  Operation *op = value.getDefiningOp();
  if (op->getNumRegions())
    carried(op, cast<OpResult>(value).getResultNumber());
  else
    for (Value operand : op->getOperands())
      track(operand);
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

ProtocolState::ProtocolState(const ProtocolMemory &memory)
    : cells(memory.objects.size()) {
  for (auto [cell, object] : llvm::zip(cells, memory.objects))
    if (!object.shared)
      cell.content = Content::Ready; // the caller's data
}

std::string ProtocolState::key() const {
  std::string text;
  for (const Cell &cell : cells) {
    text += char('0' + int(cell.content));
    text += cell.read ? 'r' : '-';
    if (cell.content == Content::Flying)
      text += std::to_string(cell.age);
    if (cell.readAge > -2)
      text += "<" + std::to_string(cell.readAge);
    text += ' ';
  }
  for (auto [value, number] : values)
    text += std::to_string(reinterpret_cast<uintptr_t>(value)) + "=" +
            std::to_string(number) + " ";
  return text;
}

void ProtocolState::set(Value value, std::optional<int64_t> number) {
  if (number)
    values[value.getAsOpaquePointer()] = *number;
  else
    values.erase(value.getAsOpaquePointer());
}

std::optional<int64_t> ProtocolState::evaluate(Value value) const {
  if (auto found = values.find(value.getAsOpaquePointer());
      found != values.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions())
    return std::nullopt;
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto number = dyn_cast<IntegerAttr>(constant.getValue());
    return number ? std::optional(number.getInt()) : std::nullopt;
  }
  if (!isa_and_present<arith::ArithDialect>(op->getDialect()))
    return std::nullopt;
  SmallVector<int64_t> in;
  for (Value operand : op->getOperands()) {
    std::optional<int64_t> number = evaluate(operand);
    if (!number)
      return std::nullopt;
    in.push_back(*number);
  }
  using Result = std::optional<int64_t>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](arith::AddIOp) -> Result { return in[0] + in[1]; })
      .Case([&](arith::SubIOp) -> Result { return in[0] - in[1]; })
      .Case([&](arith::MulIOp) -> Result { return in[0] * in[1]; })
      .Case([&](arith::AndIOp) -> Result { return in[0] & in[1]; })
      .Case([&](arith::XOrIOp) -> Result { return in[0] ^ in[1]; })
      .Case<arith::RemUIOp, arith::RemSIOp>([&](auto) -> Result {
        if (in[0] < 0 || in[1] <= 0)
          return std::nullopt;
        return in[0] % in[1];
      })
      .Case<arith::IndexCastOp, arith::IndexCastUIOp>(
          [&](auto) -> Result { return in[0]; })
      .Case([&](arith::SelectOp) -> Result { return in[0] ? in[1] : in[2]; })
      .Case([&](arith::CmpIOp compare) -> Result {
        int64_t a = in[0], b = in[1];
        switch (compare.getPredicate()) {
        case arith::CmpIPredicate::eq:
          return a == b;
        case arith::CmpIPredicate::ne:
          return a != b;
        case arith::CmpIPredicate::slt:
          return a < b;
        case arith::CmpIPredicate::sle:
          return a <= b;
        case arith::CmpIPredicate::sgt:
          return a > b;
        case arith::CmpIPredicate::sge:
          return a >= b;
        default:
          return std::nullopt;
        }
      })
      .Default([](Operation *) -> Result { return std::nullopt; });
}

//===----------------------------------------------------------------------===//
// The story
//===----------------------------------------------------------------------===//

void ProtocolState::note(Operation *op, std::string what, int object) {
  last = std::make_shared<const ProtocolStep>(
      ProtocolStep{last, op, std::move(what), object, turns});
}

std::string ProtocolState::schedule(const ProtocolMemory &memory, int object,
                                    Operation *other) const {
  // Rows, newest first.
  struct Row {
    std::string turn, what, where, line;
  };
  std::vector<Row> rows;
  auto touches = [&](int touched) {
    return touched < 0 || object < 0 ||
           llvm::is_contained(memory.overlaps[size_t(object)], touched);
  };
  constexpr size_t most = 24;
  bool more = false;
  for (const ProtocolStep *at = last.get(); at; at = at->before.get()) {
    if (!touches(at->object))
      continue;
    bool meets =
        other && at->op == other && at->object >= 0 && at != last.get();
    if (rows.size() < most || meets) {
      std::string turn = llvm::join(
          llvm::map_range(at->turns,
                          [](int64_t n) { return std::to_string(n); }),
          ".");
      rows.push_back({turn.empty() ? "-" : turn, at->what,
                      at->object < 0 ? "" : memory.name(size_t(at->object)),
                      lineOf(at->op->getLoc())});
    } else if (!more) {
      more = true;
      rows.push_back({"...", "", "", ""});
    }
    if (meets || (!other && rows.size() >= 12)) {
      rows.back().line += "   <- this";
      break;
    }
  }
  if (!rows.empty() && last)
    rows.front().line += other ? "   <- meets this" : "   <- here";
  size_t widths[3] = {4, 12, 6};
  for (const Row &row : rows) {
    widths[0] = std::max(widths[0], row.turn.size());
    widths[1] = std::max(widths[1], row.what.size());
    widths[2] = std::max(widths[2], row.where.size());
  }
  std::string text;
  auto line = [&](const Row &row) {
    auto cell = [&](const std::string &word, size_t width) {
      text += word + std::string(width - word.size() + 2, ' ');
    };
    cell(row.turn, widths[0]);
    cell(row.what, widths[1]);
    cell(row.where, widths[2]);
    text += row.line + "\n";
  };
  line({"turn", "what happens", "memory", "line"});
  for (const Row &row : llvm::reverse(rows))
    line(row);
  return text;
}
