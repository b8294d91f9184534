// Tile IR: the dialect, its types and attributes. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_TILE_DIALECT_TD
#define TESSERA_TILE_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/AttrTypeBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tessera::tile";
  let summary = "What one block does: tiles, views, matrix steps; then layouts, buffers and barriers";
  let description = [{
    Stage 3 of 4, at two levels.

    *Value level.* A tile is a builtin tensor of static shape. Each axis of a
    tile belongs to a range (`!tile.range<64>`): 64 consecutive positions of a
    dim, of which those beyond the dim's end do not exist. Which range an axis
    belongs to follows from the ops: a load's from its indices, an element-wise
    op's from its operands. Absent elements stay absent in element-wise ops;
    reductions, scans, `tile.mma` and stores skip them. Element-wise arithmetic
    is `arith` and `math` on tensors; scalars are index, integers and floats;
    control flow is `tile.for`, `scf.for`, `scf.while` and `scf.if`.

    *Mapped level.* The same program with layouts: tiles have a layout, memory
    is `!tile.buffer`, copies are asynchronous with tokens, barriers explicit.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::mlir::math::MathDialect"];
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def Tile_RangeType : TypeDef<Tile_Dialect, "Range"> {
  let mnemonic = "range";
  let summary = "`size` consecutive positions of a dim; those past its end are absent";
  let parameters = (ins "int64_t":$size);
  let assemblyFormat = "`<` $size `>`";
  let genVerifyDecl = 1;
}

def Tile_BufferType : TypeDef<Tile_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "Mutable memory of a block: shape, element type, layout, space";
  let description = [{
    `layout` is the text of docs/abi.md; empty means row-major. `space` is
    `shared`, `register`, `l1`, `l2` or `scratch`. It has at most 2^24 numbers.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        "::mlir::StringAttr":$layout, "::mlir::StringAttr":$space);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tile_TokenType : TypeDef<Tile_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "A group of asynchronous copies under way";
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Tile_ReduceKind : I32EnumAttr<"ReduceKind", "how elements are combined", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
    I32EnumAttrCase<"And", 4, "and">, I32EnumAttrCase<"Or", 5, "or">,
    I32EnumAttrCase<"Xor", 6, "xor">,
    I32EnumAttrCase<"Argmax", 7, "argmax">, I32EnumAttrCase<"Argmin", 8, "argmin">]> {
  let cppNamespace = "::tessera::tile";
}

#endif // TESSERA_TILE_DIALECT_TD
