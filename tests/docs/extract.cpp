// extract FILE.md OUT.cpp: turns every ```cpp block of a document into a test.
//
// A block is the body of a function, or a program with its own main(). A ```text block right after
// it is what it must print. Each becomes a namespace and a test named by its line.
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Snippet {
  int line = 0;
  std::string code;
  std::string output;
  bool has_output = false;
};

std::vector<Snippet> snippets_of(std::istream& document) {
  enum class In { text, code, output };
  std::vector<Snippet> snippets;
  In in = In::text;
  bool just_after_code = false;
  std::string line;
  for (int n = 1; std::getline(document, line); ++n) {
    if (in == In::text && line == "```cpp") {
      snippets.push_back({.line = n});
      in = In::code;
    } else if (in == In::text && line == "```text" && just_after_code) {
      snippets.back().has_output = true;
      in = In::output;
    } else if (in != In::text && line == "```") {
      just_after_code = in == In::code;
      in = In::text;
      continue;
    } else if (in != In::text) {
      (in == In::code ? snippets.back().code : snippets.back().output) += line + "\n";
    }
    if (in == In::text) just_after_code = false;
  }
  return snippets;
}

void write(const Snippet& s, const std::string& suite, std::ostream& out) {
  const std::string test = "line_" + std::to_string(s.line), name = suite + "_" + test;
  std::string includes;
  std::string code;
  std::istringstream lines(s.code);
  for (std::string line; std::getline(lines, line);)
    (line.starts_with("#include") ? includes : code) += line + "\n";
  const size_t main_at = code.find("int main()");
  out << includes << "namespace " << name << " {\n";
  if (main_at == std::string::npos) {
    out << "void run() {\n" << code << "}\n";
  } else {
    code.replace(main_at, std::string("int main()").size(), "void run()");
    out << code;
  }
  out << "}  // namespace " << name << "\nTEST(" << suite << ", " << test << ") {\n  ";
  if (s.has_output)
    out << "EXPECT_EQ(accrue::docs::printed_by(" << name << "::run), R\"__(" << s.output
        << ")__\");\n";
  else
    out << "accrue::docs::printed_by(" << name << "::run);\n";
  out << "}\n\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  std::ifstream document(argv[1]);
  const auto snippets = snippets_of(document);
  if (snippets.empty()) {
    std::cerr << argv[1] << " has no ```cpp block\n";
    return 1;
  }
  std::ofstream out(argv[2]);
  out << "#include <gtest/gtest.h>\n\n#include <accrue/accrue.h>\n\n#include <iostream>\n\n"
         "#include \"tests/docs/printed_by.h\"\n\nusing namespace accrue;\n\n";
  for (const Snippet& s : snippets) write(s, argv[3], out);
  return out.good() ? 0 : 1;
}
