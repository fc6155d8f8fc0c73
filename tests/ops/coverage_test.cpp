// The table is whole: every operator that the headers declare has a row, and a wrong call.
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/ops/suite.h"

namespace accrue::testing {
namespace {

std::set<std::string> declared_operators() {
  std::set<std::string> names;
  const std::regex declaration(
      R"((?:^|\n)(?:Tensor|ValuesAndIndices|std::vector<Tensor>) ([a-z_0-9]+)\()");
  for (const auto& entry : std::filesystem::directory_iterator(ACCRUE_OPS_FOLDER)) {
    const auto& path = entry.path();
    // Those in place are no operators of the tape; support.h is for those who write operators.
    if (path.extension() != ".h" || path.stem() == "inplace" || path.stem() == "support") continue;
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    const std::string all = text.str();
    for (std::sregex_iterator it(all.begin(), all.end(), declaration), end; it != end; ++it)
      names.insert((*it)[1]);
  }
  return names;
}

TEST(Table, EveryOperatorHasARowAndAWrongCall) {
  const std::set<std::string> declared = declared_operators();
  EXPECT_GT(declared.size(), 70U) << "the declarations were not found";
  std::map<std::string, bool> has_wrong_call;
  for (const OpCase& row : all_op_cases()) has_wrong_call[row.op()] |= bool(row.wrong.call);
  for (const std::string& op : declared) {
    EXPECT_TRUE(has_wrong_call.count(op)) << op << " has no row in tests/op_cases.h";
    EXPECT_TRUE(has_wrong_call[op]) << op << " has no wrong call in tests/op_cases.h";
  }
  for (const auto& [op, unused] : has_wrong_call)
    EXPECT_TRUE(declared.count(op)) << op << " is not declared in autograd/ops/";
}

TEST(Table, NamesAreDifferent) {
  std::set<std::string> names;
  for (const OpCase& row : all_op_cases())
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " comes twice";
}

}  // namespace
}  // namespace accrue::testing
