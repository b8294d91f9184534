// Tests of the diagnostics renderer: the text a user reads, compared as a
// whole. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Frontend/Diagnostics.h"

#include <gtest/gtest.h>

using namespace tessera::frontend;

namespace {

SourceRange range(FileId file, uint32_t line, uint32_t first, uint32_t last) {
  return {file, {line, first}, {line, last}};
}

const char *gemm =
    "@tsr.kernel\n"
    "def gemm(A: Tensor[\"M\", \"K\"], B: Tensor[\"K\", \"N\"]):\n"
    "    for m, n in tsr.grid(tsr.tile(M, 8), tsr.tile(N, 8)):\n"
    "        acc = tsr.zeros(m, n)\n"
    "        for k in tsr.tile(K, BLOCK_K):\n"
    "            acc += A[k, m] @ B[k, n]\n";

// The error of language.md, note and fix included.
TEST(Diagnostics, ErrorWithNotesAndFix) {
  SourceManager sources;
  FileId file = sources.add("gemm.py", gemm);
  DiagnosticEngine diags(sources);
  diags.error(range(file, 6, 22, 23), "k covers dim K, but axis 0 of A is M")
      .addNote(range(file, 2, 10, 11), "A: Tensor[\"M\", \"K\"]")
      .addNote(range(file, 5, 13, 14), "for k in tsr.tile(K, BLOCK_K)")
      .setFix("A[m, k]");
  EXPECT_EQ(diags.render(),
            "gemm.py:6:22: error: k covers dim K, but axis 0 of A is M\n"
            "    6 |             acc += A[k, m] @ B[k, n]\n"
            "      |                      ^\n"
            " note: gemm.py:2:10: A: Tensor[\"M\", \"K\"]\n"
            " note: gemm.py:5:13: for k in tsr.tile(K, BLOCK_K)\n"
            " fix:  A[m, k]\n");
}

TEST(Diagnostics, RangeIsUnderlined) {
  SourceManager sources;
  FileId file = sources.add("f.py", "x = foo + 1\n");
  DiagnosticEngine diags(sources);
  diags.error(range(file, 1, 5, 8), "no");
  EXPECT_EQ(diags.render(), "f.py:1:5: error: no\n"
                            "    1 | x = foo + 1\n"
                            "      |     ^~~\n");
}

// A range over several lines is marked on its first line only.
TEST(Diagnostics, SeveralLines) {
  SourceManager sources;
  FileId file = sources.add("f.py", "f(a,\n  b)\n");
  DiagnosticEngine diags(sources);
  diags.error({file, {1, 1}, {2, 5}}, "no");
  EXPECT_EQ(diags.render(), "f.py:1:1: error: no\n"
                            "    1 | f(a,\n"
                            "      | ^~~~\n");
}

// The column counts characters; the caret stands where the terminal shows them.
TEST(Diagnostics, TabsAndWideCharacters) {
  SourceManager sources;
  FileId file = sources.add("f.py", "\tx = \"日本\" + é\n");
  DiagnosticEngine diags(sources);
  diags.error(range(file, 1, 13, 14), "no");
  EXPECT_EQ(diags.render(), "f.py:1:13: error: no\n"
                            "    1 |         x = \"日本\" + é\n"
                            "      |                      ^\n");
  DiagnosticEngine wide(sources);
  wide.error(range(file, 1, 7, 9), "no");
  EXPECT_EQ(wide.render(), "f.py:1:7: error: no\n"
                           "    1 |         x = \"日本\" + é\n"
                           "      |              ^~~~\n");
}

// A letter and the accent drawn onto it take one column.
TEST(Diagnostics, CombiningCharacters) {
  SourceManager sources;
  FileId file = sources.add("f.py", "\"e\u0301\" + x\n");
  DiagnosticEngine diags(sources);
  diags.error(range(file, 1, 8, 9), "no");
  EXPECT_EQ(diags.render(), "f.py:1:8: error: no\n"
                            "    1 | \"e\u0301\" + x\n"
                            "      |       ^\n");
}

TEST(Diagnostics, ControlCharactersDoNotReachTheTerminal) {
  SourceManager sources;
  FileId file = sources.add("f\033[2J.py", "x = '\033[31m\u202e' \xff y\n");
  DiagnosticEngine diags(sources);
  diags.error(range(file, 1, 16, 17), "bad \033 byte").setFix("a\nb\a");
  EXPECT_EQ(diags.render(), "f\uFFFD[2J.py:1:16: error: bad \uFFFD byte\n"
                            "    1 | x = '\uFFFD[31m\uFFFD' \uFFFD y\n"
                            "      |                ^\n"
                            " fix:  a\n"
                            "       b\uFFFD\n");
}

// A function cut out of a file: lines and columns are those of the file, and
// the removed blanks are shown again.
TEST(Diagnostics, SegmentOfAFile) {
  SourceManager sources;
  FileId file = sources.add("f.py", "def f(x):\n    return y\n", 100000, 4);
  DiagnosticEngine diags(sources);
  diags.error(range(file, 100001, 16, 17), "y is not known");
  EXPECT_EQ(diags.render(), "f.py:100001:16: error: y is not known\n"
                            "100001 |         return y\n"
                            "       |                ^\n");
}

TEST(Diagnostics, PlacesThatAreNotInTheText) {
  SourceManager sources;
  FileId file = sources.add("f.py", "x\n", 7);
  DiagnosticEngine diags(sources);
  diags.error({}, "nowhere");
  diags.error({file, {}, {}}, "somewhere in the file");
  diags.error(range(file, 3, 1, 2), "before the text");
  diags.error(range(file, 7, 2, 3), "at the end of the line");
  diags.error(range(file, 7, 90, 99), "beyond the line");
  EXPECT_EQ(diags.render(), "error: nowhere\n"
                            "f.py: error: somewhere in the file\n"
                            "f.py:3:1: error: before the text\n"
                            "f.py:7:2: error: at the end of the line\n"
                            "    7 | x\n"
                            "      |  ^\n"
                            "f.py:7:90: error: beyond the line\n"
                            "    7 | x\n"
                            "      |  ^\n");
  EXPECT_EQ(diags.getErrorCount(), 5u);
}

TEST(Diagnostics, WarningsAndRemarksAreNoErrors) {
  SourceManager sources;
  DiagnosticEngine diags(sources);
  diags.warning({}, "w");
  diags.remark({}, "r");
  EXPECT_FALSE(diags.hasErrors());
  EXPECT_EQ(diags.render(), "warning: w\nremark: r\n");
}

TEST(Diagnostics, Colour) {
  SourceManager sources;
  FileId file = sources.add("f.py", "x\n");
  Diagnostic diagnostic;
  diagnostic.where = range(file, 1, 1, 2);
  diagnostic.message = "no";
  EXPECT_EQ(renderDiagnostic(sources, diagnostic, /*colour=*/true),
            "\033[1mf.py:1:1: \033[0m\033[1;31merror: \033[0m\033[1mno\033[0m\n"
            "    1 | x\n"
            "      | \033[1;32m^\033[0m\n");
}

TEST(SourceFile, LineEndsAndByteOrderMark) {
  SourceFile file("f.py",
                  "\xEF\xBB\xBF"
                  "a\r\nb\rc\n\nd",
                  5);
  EXPECT_EQ(file.getText(), "a\nb\nc\n\nd");
  EXPECT_EQ(file.getLine(5), "a");
  EXPECT_EQ(file.getLine(6), "b");
  EXPECT_EQ(file.getLine(8), "");
  EXPECT_EQ(file.getLine(9), "d");
  EXPECT_FALSE(file.hasLine(4));
  EXPECT_FALSE(file.hasLine(10));
}

TEST(SourceFile, Snippet) {
  SourceManager sources;
  FileId file = sources.add("f.py", "f(日, b)\ng\n", 3, 2);
  EXPECT_EQ(sources.getSnippet(range(file, 3, 5, 6)), "日");
  EXPECT_EQ(sources.getSnippet({file, {3, 8}, {4, 4}}), "b)\ng");
  EXPECT_EQ(sources.getSnippet({}), "");
}

} // namespace
