//===- Composites.cpp - softmax, norms, cross entropy, attention ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Graph/IR/Graph.h"
#include "compiler/Interpreter/Rows.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;
using S = ScalarOp;

static Element innerType(std::optional<Type> chosen, Element from) {
  return chosen ? *elementOf(*chosen) : computeType(from);
}

static LogicalResult runSoftmax(Operation *op, Interpreter &in) {
  auto softmax = cast<graph::SoftmaxOp>(op);
  const Array &input = in.array(softmax.getInput());
  Element from = input.element, to = elementOf(op->getResult(0));
  Element inner = innerType(softmax.getAccumulate(), from);
  bool near = !softmax.getLog() && inner == Element::F32 && isNarrow(to);
  FailureOr<Array> result = in.allocate(op, input.shape, to);
  if (failed(result))
    return failure();
  forEachRow(input, {int64_t(softmax.getAxis())},
             [&](ArrayRef<Cell> row, ArrayRef<int64_t> places, int64_t) {
               Row x = castRow(in.domain, row, from, inner);
               Row y = softmaxRow(in.domain, inner, x, softmax.getLog(), near);
               for (auto [cell, place] : llvm::zip_equal(y, places))
                 result->cells[place] = in.domain.cast(cell, inner, to);
             });
  in.set(op->getResult(0), std::move(*result));
  return success();
}

static LogicalResult runLayerNorm(Operation *op, Interpreter &in) {
  auto norm = cast<graph::LayerNormOp>(op);
  const Array &input = in.array(norm.getInput());
  Element from = input.element, to = elementOf(op->getResult(0));
  Element inner = innerType(norm.getAccumulate(), from);
  SmallVector<int64_t> axes;
  for (size_t i = input.rank() - norm.getAxes(); i < input.rank(); ++i)
    axes.push_back(int64_t(i));
  FailureOr<Array> result = in.allocate(op, input.shape, to);
  if (failed(result))
    return failure();
  SmallVector<Row> parameters;
  for (Value value : norm.getParameters()) {
    const Array &parameter = in.array(value);
    if (!std::equal(parameter.shape.begin(), parameter.shape.end(),
                    input.shape.end() - axes.size(), input.shape.end()))
      return op->emitError() << "weight or bias has another shape than the "
                                "normalised axes";
    parameters.push_back(
        castRow(in.domain, parameter.cells, parameter.element, inner));
  }
  long double eps = norm.getEps().convertToDouble();
  bool direct = in.domain.knowsComposedRows();
  Steps step{in.domain, inner};
  forEachRow(
      input, axes, [&](ArrayRef<Cell> row, ArrayRef<int64_t> places, int64_t) {
        Row y = normRow(in.domain, inner, castRow(in.domain, row, from, inner),
                        eps, norm.getRms());
        for (size_t i = 0; i < y.size(); ++i) {
          if (direct) {
            for (auto [number, parameter] : llvm::enumerate(parameters))
              y[i].real = number == 0 ? y[i].real * parameter[i].real
                                      : y[i].real + parameter[i].real;
            y[i] = in.domain.constant(inner, y[i].real);
          } else {
            for (auto [number, parameter] : llvm::enumerate(parameters))
              y[i] =
                  step.two(number == 0 ? S::Mul : S::Add, y[i], parameter[i]);
          }
          result->cells[places[i]] = in.domain.cast(y[i], inner, to);
        }
      });
  in.set(op->getResult(0), std::move(*result));
  return success();
}

static LogicalResult runCrossEntropy(Operation *op, Interpreter &in) {
  auto entropy = cast<graph::CrossEntropyOp>(op);
  const Array &logits = in.array(entropy.getLogits());
  const Array &targets = in.array(entropy.getTargets());
  Element from = logits.element, to = elementOf(op->getResult(0));
  Element inner = innerType(entropy.getAccumulate(), from);
  FailureOr<Array> result = in.allocate(op, targets.shape, to);
  if (failed(result) || failed(in.spend(op, uint64_t(logits.size()))))
    return failure();
  Steps step{in.domain, inner};
  forEachRow(logits, {int64_t(logits.rank()) - 1},
             [&](ArrayRef<Cell> row, ArrayRef<int64_t>, int64_t number) {
               Row x = castRow(in.domain, row, from, inner);
               Cell total = logsumexpRow(in.domain, inner, x);
               int64_t target = targets.cells[number].integer;
               if (target == entropy.getIgnored()) {
                 result->cells[number] = in.domain.constant(to, 0);
                 return;
               }
               // A target out of bounds reads 0; it was refused before.
               Cell picked = target >= 0 && target < int64_t(x.size())
                                 ? x[target]
                                 : in.domain.constant(inner, 0);
               result->cells[number] =
                   in.domain.cast(step.two(S::Sub, total, picked), inner, to);
             });
  in.set(op->getResult(0), std::move(*result));
  return success();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {

/// One query's keys and values, in the inner type.
struct Attention {
  Domain &domain;
  Element inner;
  Cell scale; // log2(e) / sqrt(D), or log2(e) times the given one
  long double realScale;

  /// Weights of the visible keys from their scores (before the scale), and
  /// the sum over values; on reals.
  Cell direct(ArrayRef<long double> scores, ArrayRef<Cell> values) const {
    long double top = -std::numeric_limits<long double>::infinity();
    for (long double score : scores) {
      if (std::isnan(score))
        return domain.constant(inner, score);
      top = std::max(top, score * realScale);
    }
    if (std::isinf(top) && top < 0)
      top = 0;
    long double sum = 0, total = 0;
    for (auto [score, value] : llvm::zip_equal(scores, values)) {
      long double weight = std::exp(score * realScale - top);
      sum += weight;
      total += weight * value.real;
    }
    return domain.constant(inner, sum == 0 ? 0 : total / sum);
  }
};

} // namespace

static LogicalResult runAttention(Operation *op, Interpreter &in) {
  auto attention = cast<graph::AttentionOp>(op);
  const Array &q = in.array(attention.getQ()), &k = in.array(attention.getK());
  const Array &v = in.array(attention.getV());
  Domain &domain = in.domain;
  size_t rank = q.rank();
  Element from = q.element, to = elementOf(op->getResult(0));
  Element inner = computeType(from);
  bool direct = domain.knowsComposedRows();
  if (!direct && domain.name() == "ring" && isNarrow(from))
    return op->emitError() << "attention of " << nameOf(from)
                           << " is excluded from ring mode: where weights are "
                              "cast depends on the schedule";
  int64_t s = q.shape[rank - 2], d = q.shape[rank - 1];
  int64_t t = k.shape[rank - 2], dv = v.shape[rank - 1];
  if (k.shape[rank - 1] != d || v.shape[rank - 2] != t)
    return op->emitError() << "q, k and v do not fit together";
  int64_t heads = 1, group = 1;
  for (size_t axis = 0; axis + 2 < rank; ++axis) {
    heads *= q.shape[axis];
    bool last = axis + 3 == rank;
    if (last && k.shape[axis] != 0 && q.shape[axis] % k.shape[axis] == 0)
      group = q.shape[axis] / k.shape[axis];
    else if (q.shape[axis] != k.shape[axis])
      return op->emitError() << "axis " << axis << " of q has " << q.shape[axis]
                             << " elements, of k " << k.shape[axis];
  }
  SmallVector<int64_t> shape(ArrayRef<int64_t>(q.shape));
  shape.back() = dv;
  FailureOr<Array> result = in.allocate(op, shape, to);
  if (failed(result) ||
      failed(in.spend(op, uint64_t(heads) * s * t * uint64_t(d + dv + 1))))
    return failure();
  Steps step{domain, inner};
  Cell log2e = step.number(std::numbers::log2e), scale;
  long double realScale = 0;
  if (attention.getScale()) {
    const Array &given = in.array(attention.getScale());
    Cell wide = domain.cast(given.cells[0], given.element, inner);
    scale = step.two(S::Mul, wide, log2e);
    realScale = direct ? wide.real : 0;
  } else {
    scale = step.two(S::Div, log2e, step.one(S::Sqrt, step.count(d)));
    realScale = 1 / std::sqrt((long double)d);
  }
  Types product{from, inner, inner}, mix{inner, inner, inner};
  Attention row{domain, inner, scale, realScale};
  long double lowest = inner == Element::F64
                           ? (long double)std::numeric_limits<double>::lowest()
                           : std::numeric_limits<float>::lowest();
  std::vector<long double> reals;
  Row scores, weights, column;
  for (int64_t h = 0; h < heads; ++h) {
    int64_t hk = h / group;
    const Cell *keys = k.cells.data() + hk * t * d;
    const Cell *values = v.cells.data() + hk * t * dv;
    for (int64_t i = 0; i < s; ++i) {
      ArrayRef<Cell> query(q.cells.data() + (h * s + i) * d, d);
      int64_t seen =
          attention.getCausal() ? std::clamp<int64_t>(i + t - s + 1, 0, t) : t;
      Cell *out = result->cells.data() + (h * s + i) * dv;
      if (direct) {
        reals.clear();
        for (int64_t j = 0; j < seen; ++j) {
          long double sum = 0;
          for (int64_t x = 0; x < d; ++x)
            sum += query[x].real * keys[j * d + x].real;
          reals.push_back(sum);
        }
        for (int64_t x = 0; x < dv; ++x) {
          column.clear();
          for (int64_t j = 0; j < seen; ++j)
            column.push_back(values[j * dv + x]);
          out[x] = domain.cast(row.direct(reals, column), inner, to);
        }
        continue;
      }
      scores.clear();
      weights.clear();
      for (int64_t j = 0; j < seen; ++j)
        scores.push_back(step.two(
            S::Mul, domain.dot(product, query, {keys + j * d, size_t(d)}),
            scale));
      Cell top = step.two(S::Maximum, step.number(lowest),
                          step.reduce(Reduction::Max, scores));
      // What is rounded for the product with v is made to 13 bits.
      S power = isNarrow(v.element) ? S::Exp2Near : S::Exp2;
      for (const Cell &score : scores)
        weights.push_back(step.one(power, step.two(S::Sub, score, top)));
      // Schedules go through the keys in blocks of 16 or more; each may rescale
      // what was summed up so far (an exp2 and two products).
      long double u = domain.unitOf(inner);
      long double blocks = (long double)((seen + 15) / 16);
      for (Cell &weight : weights)
        weight = domain.relax(weight, blocks * 7 * u);
      Cell sum = step.reduce(Reduction::Sum, weights);
      // They may round the weights for the product with v.
      for (Cell &weight : weights)
        if (isNarrow(v.element))
          weight = domain.relax(weight, domain.unitOf(v.element));
      Cell empty = step.compare(S::Eq, sum, step.number(0));
      Cell inverse = step.select(empty, step.number(0),
                                 step.two(S::Div, step.number(1), sum));
      for (int64_t x = 0; x < dv; ++x) {
        column.clear();
        for (int64_t j = 0; j < seen; ++j)
          column.push_back(domain.cast(values[j * dv + x], v.element, inner));
        Cell total =
            step.two(S::Mul, domain.dot(mix, weights, column), inverse);
        out[x] = domain.cast(total, inner, to);
      }
    }
  }
  in.set(op->getResult(0), std::move(*result));
  return success();
}

void interpreter::registerComposites(Handlers &handlers) {
  handlers.add("gir.softmax", runSoftmax);
  handlers.add("gir.layer_norm", runLayerNorm);
  handlers.add("gir.cross_entropy", runCrossEntropy);
  handlers.add("gir.attention", runAttention);
}
