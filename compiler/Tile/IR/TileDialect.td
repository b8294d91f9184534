// Tile IR: the dialect, its types and attributes. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_TILE_DIALECT_TD
#define TESSERA_TILE_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/IR/CommonAttrConstraints.td"

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
  let useDefaultAttributePrinterParser = 1;
}

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

class Tile_Enum<string name, string what, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, what, cases> {
  let cppNamespace = "::tessera::tile";
  let genSpecializedAttr = 0;
}
class Tile_EnumAttr<Tile_Enum words, string mnemonic> : EnumAttr<Tile_Dialect, words, mnemonic> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_ReduceKind : I32EnumAttr<"ReduceKind", "how elements are combined", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Prod", 1, "prod">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
    I32EnumAttrCase<"And", 4, "and">, I32EnumAttrCase<"Or", 5, "or">,
    I32EnumAttrCase<"Xor", 6, "xor">,
    I32EnumAttrCase<"Argmax", 7, "argmax">, I32EnumAttrCase<"Argmin", 8, "argmin">]> {
  let cppNamespace = "::tessera::tile";
}

def Tile_Space : Tile_Enum<"Space", "where a buffer lies", [
    I32EnumAttrCase<"Shared", 0, "shared">, I32EnumAttrCase<"Register", 1, "register">,
    I32EnumAttrCase<"L1", 2, "l1">, I32EnumAttrCase<"L2", 3, "l2">,
    I32EnumAttrCase<"Scratch", 4, "scratch">, I32EnumAttrCase<"Tensor", 5, "tmem">]>;

def Tile_MatrixUnit : Tile_Enum<"MatrixUnit", "what computes a matrix step of a CPU", [
    I32EnumAttrCase<"Fma", 0, "fma">, I32EnumAttrCase<"Amx", 1, "amx">]>;
def Tile_MatrixUnitAttr : Tile_EnumAttr<Tile_MatrixUnit, "unit">;

def Tile_ExchangeWay : Tile_Enum<"ExchangeWay", "how a tile gets to other threads", [
    I32EnumAttrCase<"Registers", 0, "registers">, I32EnumAttrCase<"Shuffles", 1, "shuffles">,
    I32EnumAttrCase<"Shared", 2, "shared">]>;
def Tile_ExchangeWayAttr : Tile_EnumAttr<Tile_ExchangeWay, "way">;

def Tile_Issuer : Tile_Enum<"Issuer", "who issues an asynchronous product", [
    I32EnumAttrCase<"Thread", 0, "thread">, I32EnumAttrCase<"Warp", 1, "warp">,
    I32EnumAttrCase<"WarpGroup", 2, "warp_group">, I32EnumAttrCase<"BlockPair", 3, "block_pair">]>;
def Tile_IssuerAttr : Tile_EnumAttr<Tile_Issuer, "issuer">;

def Tile_PrintPart : Tile_Enum<"PrintPart", "a part of a printed line", [
    I32EnumAttrCase<"Begin", 0, "begin">, I32EnumAttrCase<"Value", 1, "value">,
    I32EnumAttrCase<"Axes", 2, "axes">, I32EnumAttrCase<"Element", 3, "element">,
    I32EnumAttrCase<"End", 4, "end">]>;
def Tile_PrintPartAttr : Tile_EnumAttr<Tile_PrintPart, "part">;

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
    Without a `#tile.layout` it is row-major. `space` is `shared`, `register`,
    `l1`, `l2`, `scratch` or `tmem` (tensor memory). It has at most 2^24
    numbers.

    Example: `!tile.buffer<3x128x64xf16, #tile.layout<dim0:[4,8], dim1:[1,2] -> offset:16>, shared>`,
    `!tile.buffer<64xf32, scratch>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        "::tessera::tile::LayoutAttr":$layout, "::tessera::tile::Space":$space);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tile_TokenType : TypeDef<Tile_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "Asynchronous work under way: a group of copies, or a product";
}

def Tile_InFlightType : TypeDef<Tile_Dialect, "InFlight"> {
  let mnemonic = "in_flight";
  let summary = "A tile that a matrix unit still writes: its registers are not the program's";
  let description = [{
    What an asynchronous product leaves. Only the next product takes it as it
    is; `tile.mma_wait` gives the tile back.

    Example: `!tile.in_flight<tensor<64x256xf32>>`
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tile);
  let assemblyFormat = "`<` $tile `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Tile_LayoutAttr : AttrDef<Tile_Dialect, "Layout",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "layout";
  let summary = "Where the elements of a tile live (compiler/Support/Layout/Layout.h)";
  let description = [{
    Of a tile it leads from the registers of threads to positions of the tile,
    of a buffer from positions to an offset. Two layouts that are written alike
    are one attribute.

    Constraints:
    * (C1) as the encoding of a tile it leads to the tile's axes, `dim0`, `dim1`, ..., and covers them.

    Example: `#tile.layout<register:[(0,1)], lane:[(0,2),(1,0),(2,0)] -> (4x4)>`
  }];
  let parameters = (ins AttrParameter<"::tessera::layout::Layout", "the layout",
                                      "const ::tessera::layout::Layout &">:$value);
  let genStorageClass = 0;
  let hasCustomAssemblyFormat = 1;
}

def Tile_MmaForm : Tile_Enum<"MmaForm", "which instruction computes a product", [
    I32EnumAttrCase<"Fma", 0, "fma">, I32EnumAttrCase<"Sync", 1, "sync">,
    I32EnumAttrCase<"Sparse", 2, "sparse">, I32EnumAttrCase<"Scaled", 3, "scaled">,
    I32EnumAttrCase<"Wgmma", 4, "wgmma">, I32EnumAttrCase<"Tcgen05", 5, "tcgen05">]>;

def Tile_InstructionAttr : AttrDef<Tile_Dialect, "Instruction"> {
  let mnemonic = "instruction";
  let summary = "The instruction of a product: its form, and the sizes of one";
  let description = [{
    `fma` is a loop of fused multiply-adds, the others are matrix instructions;
    the types are those of the product's operands.

    Example: `#tile.instruction<sync 16 x 8 x 16>`, `#tile.instruction<fma>`
  }];
  let parameters = (ins EnumParameter<Tile_MmaForm>:$form, DefaultValuedParameter<"int64_t", "0">:$m,
                        DefaultValuedParameter<"int64_t", "0">:$n, DefaultValuedParameter<"int64_t", "0">:$k);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tile_ExchangeAttr : AttrDef<Tile_Dialect, "Exchange"> {
  let mnemonic = "exchange";
  let summary = "Shared memory through which an op moves elements between threads";
  let description = [{
    `bytes` from byte `offset` of the block's shared memory; not placed yet
    without an offset. All threads wait before they write there, unless it is
    `unguarded`, and once more before they read.

    Example: `#tile.exchange<512 at 1024, unguarded>`
  }];
  let parameters = (ins "int64_t":$bytes, OptionalParameter<"std::optional<int64_t>">:$offset,
                        DefaultValuedParameter<"bool", "false">:$unguarded);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tile_NumericsKind : Tile_Enum<"NumericsKind", "which sums a kernel has", [
    I32EnumAttrCase<"Elementwise", 0, "elementwise">, I32EnumAttrCase<"Copy", 1, "copy">,
    I32EnumAttrCase<"Rows", 2, "rows">, I32EnumAttrCase<"Columns", 3, "columns">,
    I32EnumAttrCase<"Gemm", 4, "gemm">, I32EnumAttrCase<"Attention", 5, "attention">,
    I32EnumAttrCase<"Scan", 6, "scan">, I32EnumAttrCase<"Partial", 7, "partial">,
    I32EnumAttrCase<"AsWritten", 8, "as_written">]>;

def Tile_NumericsAttr : AttrDef<Tile_Dialect, "Numerics"> {
  let mnemonic = "numerics";
  let summary = "The order in which a kernel sums: two kernels of one class have the same bits";
  let description = [{
    `step` elements are summed at a time, one step after the other; those of
    `attention` with the running maximum, those of `partial` are a chunk. A
    product is summed in `parts` (1: not divided, 0: as many as the plan finds).

    Example: `#tile.numerics<gemm step = 1024 parts = 0>`, `#tile.numerics<elementwise>`
  }];
  let parameters = (ins EnumParameter<Tile_NumericsKind>:$kind, DefaultValuedParameter<"int64_t", "0">:$step,
                        DefaultValuedParameter<"int64_t", "1">:$parts);
  let assemblyFormat = "`<` $kind (`step` `=` $step^)? (`parts` `=` $parts^)? `>`";
  let genVerifyDecl = 1;
}

/// An integer within bounds.
class Tile_Number<int least, int most, string what>
    : ConfinedAttr<I64Attr, [IntMinValue<least>, IntMaxValue<most>]> {
  let summary = what # ", " # least # " to " # most;
}
class Tile_Numbers<int least, int most, string what>
    : ConfinedAttr<DenseI64ArrayAttr, [AttrConstraint<CPred<
          "::llvm::all_of(::llvm::cast<::mlir::DenseI64ArrayAttr>($_self).asArrayRef(), [](int64_t number) "
          "{ return number >= " # least # " && number <= " # most # "; })">>]> {
  let summary = what # ", " # least # " to " # most;
}
/// Bytes of memory: no block or thread has more.
defvar Tile_Bytes = Tile_Number<0, 4294967296, "bytes">;
defvar Tile_SharedBytes = Tile_Number<0, 1073741824, "bytes">; // also of variants that no machine can launch
defvar Tile_Axis = Tile_Number<0, 7, "an axis">;
defvar Tile_Conflicts = Tile_Number<-1, 1048576, "passes over the banks">;

def Tile_ConfigAttr : Attr<CPred<"::tessera::tile::isConfig($_self)">, "decisions, 0 to 65536"> {
  let storageType = "::mlir::DictionaryAttr";
  let returnType = "::mlir::DictionaryAttr";
  let convertFromStorage = "$_self";
}

#endif // TESSERA_TILE_DIALECT_TD
