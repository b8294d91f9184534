// Flash attention of language.md section 10: causal, grouped heads, D <= 64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
tile.func @attention(
    %Q: memref<?x?x?x?xELEM, strided<[?, ?, ?, 1]>>,
    %K: memref<?x?x?x?xELEM, strided<[?, ?, ?, 1]>>,
    %V: memref<?x?x?x?xELEM, strided<[?, ?, ?, 1]>>,
    %O: memref<?x?x?x?xELEM, strided<[?, ?, ?, 1]>>, %scale64: f64) {
  %zero = arith.constant 0 : index
  %B = tile.dim %Q, 0 : memref<?x?x?x?xELEM, strided<[?, ?, ?, 1]>>
  %H = tile.dim %Q, 1 : memref<?x?x?x?xELEM, strided<[?, ?, ?, 1]>>
  %S = tile.dim %Q, 2 : memref<?x?x?x?xELEM, strided<[?, ?, ?, 1]>>
  %D = tile.dim %Q, 3 : memref<?x?x?x?xELEM, strided<[?, ?, ?, 1]>>
  %HK = tile.dim %K, 1 : memref<?x?x?x?xELEM, strided<[?, ?, ?, 1]>>
  %T = tile.dim %K, 2 : memref<?x?x?x?xELEM, strided<[?, ?, ?, 1]>>
  %b, %h, %m = tile.program extents(%B, %H, %S) tiles = [0, 0, 128] : index, index, !tile.range<128>
  %share = arith.divsi %H, %HK : index
  %hk = arith.divsi %h, %share : index
  %d = tile.range_at %zero of %D : !tile.range<64>
  %scale = arith.truncf %scale64 : f64 to f32
  %q = tile.load %Q[%b, %h, %m, %d] : memref<?x?x?x?xELEM, strided<[?, ?, ?, 1]>>, index, index, !tile.range<128>, !tile.range<64> -> tensor<128x64xELEM>
  %lowest = arith.constant 0xFF7FFFFF : f32
  %nothing = arith.constant 0.0 : f32
  %minus = arith.constant dense<0xFF800000> : tensor<128x64xf32>
  %top0 = tile.fill %lowest [%m] : f32, !tile.range<128> -> tensor<128xf32>
  %den0 = tile.fill %nothing [%m] : f32, !tile.range<128> -> tensor<128xf32>
  %acc0 = tile.fill %nothing [%m, %d] : f32, !tile.range<128>, !tile.range<64> -> tensor<128x64xf32>
  %end = tile.range_stop %m : !tile.range<128>
  %shift = arith.subi %T, %S : index
  %causal = arith.addi %end, %shift : index
  %less = arith.minsi %causal, %T : index
  %stop = arith.maxsi %less, %zero : index
  %shift64 = arith.index_cast %shift : index to i64
  %top1, %den1, %acc1 = tile.for %n = %zero to %stop carry(%top = %top0, %den = %den0, %acc = %acc0) : !tile.range<64>, (tensor<128xf32>, tensor<128xf32>, tensor<128x64xf32>) {
    %k = tile.load %K[%b, %hk, %n, %d] : memref<?x?x?x?xELEM, strided<[?, ?, ?, 1]>>, index, index, !tile.range<64>, !tile.range<64> -> tensor<64x64xELEM>
    %kt = tile.transpose %k [1, 0] : tensor<64x64xELEM> -> tensor<64x64xELEM>
    %s0 = tile.fill %nothing [%m, %n] : f32, !tile.range<128>, !tile.range<64> -> tensor<128x64xf32>
    %qk = tile.mma %q, %kt, %s0 : tensor<128x64xELEM>, tensor<64x64xELEM>, tensor<128x64xf32>
    %scales = tile.fill %scale [%m, %n] : f32, !tile.range<128>, !tile.range<64> -> tensor<128x64xf32>
    %scaled = arith.mulf %qk, %scales : tensor<128x64xf32>
    %mi = tile.index %m : !tile.range<128> -> tensor<128xi64>
    %shifts = tile.fill %shift64 [%m] : i64, !tile.range<128> -> tensor<128xi64>
    %row = arith.addi %mi, %shifts : tensor<128xi64>
    %ni = tile.index %n : !tile.range<64> -> tensor<64xi64>
    %rows = tile.broadcast %row axes = [0] [%n] : tensor<128xi64>, !tile.range<64> -> tensor<128x64xi64>
    %columns = tile.broadcast %ni axes = [1] [%m] : tensor<64xi64>, !tile.range<128> -> tensor<128x64xi64>
    %visible = arith.cmpi sge, %rows, %columns : tensor<128x64xi64>
    %s = arith.select %visible, %scaled, %minus : tensor<128x64xi1>, tensor<128x64xf32>
    %most = tile.reduce max %s axis = 1 : tensor<128x64xf32> -> tensor<128xf32>
    %new = arith.maximumf %top, %most : tensor<128xf32>
    %news = tile.broadcast %new axes = [0] [%n] : tensor<128xf32>, !tile.range<64> -> tensor<128x64xf32>
    %centred = arith.subf %s, %news : tensor<128x64xf32>
    %p = math.exp2 %centred : tensor<128x64xf32>
    %moved = arith.subf %top, %new : tensor<128xf32>
    %fix = math.exp2 %moved : tensor<128xf32>
    %sum = tile.reduce sum %p axis = 1 : tensor<128x64xf32> -> tensor<128xf32>
    %less_den = arith.mulf %den, %fix : tensor<128xf32>
    %next_den = arith.addf %less_den, %sum : tensor<128xf32>
    %fixes = tile.broadcast %fix axes = [0] [%d] : tensor<128xf32>, !tile.range<64> -> tensor<128x64xf32>
    %less_acc = arith.mulf %acc, %fixes : tensor<128x64xf32>
    %v = tile.load %V[%b, %hk, %n, %d] : memref<?x?x?x?xELEM, strided<[?, ?, ?, 1]>>, index, index, !tile.range<64>, !tile.range<64> -> tensor<64x64xELEM>
    NARROW
    %next_acc = tile.mma %pv, %v, %less_acc : tensor<128x64xELEM>, tensor<64x64xELEM>, tensor<128x64xf32>
    tile.yield %new, %next_den, %next_acc : tensor<128xf32>, tensor<128xf32>, tensor<128x64xf32>
  }
  %dens = tile.broadcast %den1 axes = [0] [%d] : tensor<128xf32>, !tile.range<64> -> tensor<128x64xf32>
  %zeros = tile.fill %nothing [%m, %d] : f32, !tile.range<128>, !tile.range<64> -> tensor<128x64xf32>
  %some = arith.cmpf ogt, %dens, %zeros : tensor<128x64xf32>
  %ratio = arith.divf %acc1, %dens : tensor<128x64xf32>
  %result = arith.select %some, %ratio, %zeros : tensor<128x64xi1>, tensor<128x64xf32>
  ROUND
  tile.store %o, %O[%b, %h, %m, %d] : tensor<128x64xELEM>, memref<?x?x?x?xELEM, strided<[?, ?, ?, 1]>>, index, index, !tile.range<128>, !tile.range<64>
  tile.return
}
