// Plants bugs in the device code of kernels, all at once, each asleep until ACCRUE_MUTANT names it:
//
//   mutants OUT LEFT_OUT SOURCE...
//
// writes each SOURCE with its mutants to OUT, and OUT/mutants.txt: number, file, line, kind, code.
// So a source is compiled once for all of its mutants. LEFT_OUT names lines, as file:line, where
// the compiler took none. mutate.sh drives it; mutant.h has the words that are planted.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Edit {
  size_t at, length;
  std::string text;
};

std::string read(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// The same length, with comments, strings and preprocessor lines blanked.
std::string code_of(std::string s) {
  for (size_t i = 0; i < s.size(); ++i) {
    size_t end = i;
    if (s.compare(i, 2, "//") == 0 || (s[i] == '#' && (i == 0 || s[i - 1] == '\n')))
      end = s.find('\n', i);
    else if (s[i] == '"')
      end = s.find('"', i + 1) + 1;
    for (; i < end && i < s.size(); ++i) s[i] = ' ';
  }
  return s;
}

size_t closing(const std::string& s, size_t open, char opens, char closes) {
  int depth = 0;
  for (size_t i = open; i < s.size(); ++i) {
    if (s[i] == opens) ++depth;
    if (s[i] == closes && --depth == 0) return i;
  }
  return s.size();
}

/// Blanks all but the bodies of functions that run on a device.
std::string device_code(const std::string& code) {
  std::string kept(code.size(), ' ');
  for (size_t i = 0; i < code.size(); ++i)
    if (code[i] == '\n') kept[i] = '\n';
  const std::regex marked("__global__|__device__|ACCRUE_HD|ACCRUE_FORMULA");
  for (std::sregex_iterator it(code.begin(), code.end(), marked), none; it != none; ++it) {
    size_t i = static_cast<size_t>(it->position());
    while (i < code.size() && code[i] != '{' && code[i] != ';')
      i = code[i] == '(' ? closing(code, i, '(', ')') + 1 : i + 1;
    if (i >= code.size() || code[i] == ';') continue;
    const size_t end = closing(code, i, '{', '}');
    kept.replace(i, end - i, code, i, end - i);
  }
  return kept;
}

class Mutator {
 public:
  Mutator(std::string file, std::string text, const std::set<std::string>& left_out, int& number,
          std::ostream& list)
      : file_(std::move(file)),
        text_(std::move(text)),
        code_(device_code(code_of(text_))),
        left_out_(left_out),
        number_(number),
        list_(list) {}

  std::string mutated() {
    plant("bound", R"( < )", " < ::mutant::one_if(#) + ");
    plant("bound", R"( <= )", " <= -::mutant::one_if(#) + ");
    plant("bound", R"( > )", " > -::mutant::one_if(#) + ");
    plant("bound", R"( >= )", " >= ::mutant::one_if(#) + ");
    plant("sign", R"( \+ )", " + ::mutant::sign(#) * ");
    plant("sign", R"( - )", " - ::mutant::sign(#) * ");
    plant("stride", R"( \* )", " * ::mutant::twice(#) * ");
    plant("equal", R"( == )", " < ::mutant::equal(#) > ");
    plant("equal", R"( != )", " < ::mutant::unequal(#) > ");
    plant("barrier", R"(__sync(threads|warp)\(\);)", "if (::mutant::on(#)) {} else $&");
    plant("sum", R"( \+= )", " += ::mutant::sign(#) * ");
    plant_indices();
    plant_lanes();
    plant_drops();
    std::sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) {
      return a.at != b.at ? a.at > b.at : a.length > b.length;
    });
    std::string out = text_;
    for (const Edit& e : edits_) out.replace(e.at, e.length, e.text);
    return out;
  }

 private:
  size_t line_of(size_t at) const {
    return 1 + static_cast<size_t>(
                   std::count(text_.begin(), text_.begin() + static_cast<long>(at), '\n'));
  }
  std::string line_at(size_t at) const {
    const size_t begin = text_.rfind('\n', at) + 1;
    return text_.substr(begin, text_.find('\n', at) - begin);
  }

  /// One more mutant; numbers do not depend on what is left out.
  void add(const char* kind, size_t at, size_t length, std::string with) {
    const int number = ++number_;
    const std::string line = std::to_string(line_of(at));
    if (left_out_.count(file_ + ":" + line)) return;
    std::string code = line_at(at);
    code.erase(0, code.find_first_not_of(' '));
    list_ << number << ' ' << file_ << ' ' << line << ' ' << kind << ' ' << code << '\n';
    edits_.push_back(
        {at, length, std::regex_replace(with, std::regex("#"), std::to_string(number))});
  }

  void plant(const char* kind, const char* pattern, const std::string& with) {
    const std::regex what(pattern);
    for (std::sregex_iterator it(code_.begin(), code_.end(), what), none; it != none; ++it) {
      std::string text = with;
      if (const size_t self = text.find("$&"); self != std::string::npos)
        text.replace(self, 2, it->str());
      add(kind, static_cast<size_t>(it->position()), it->str().size(), text);
    }
  }

  // x[i] becomes x[i + 1], except where x is declared.
  void plant_indices() {
    const std::regex index(R"([\w)\]]\[(?=[^\]]))");
    const std::regex declaration(
        R"(^\s*((const|static|constexpr) )*[\w:]+(<.*>)?[ *&]+\w+\[.*\];?.*)");
    for (std::sregex_iterator it(code_.begin(), code_.end(), index), none; it != none; ++it) {
      const size_t at = static_cast<size_t>(it->position()) + 2;
      const std::string line = line_at(at);
      if (std::regex_match(line, declaration) || line.find("SHARED(") != std::string::npos)
        continue;
      add("index", at, 0, "::mutant::one_if(#) + ");
    }
  }

  // The last argument of a shuffle.
  void plant_lanes() {
    const std::regex shuffle(R"(__shfl_\w+\()");
    for (std::sregex_iterator it(code_.begin(), code_.end(), shuffle), none; it != none; ++it) {
      const size_t open = static_cast<size_t>(it->position()) + it->str().size() - 1;
      const size_t comma = code_.rfind(", ", closing(code_, open, '(', ')'));
      add("lane", comma + 2, 0, "::mutant::one_if(#) + ");
    }
  }

  // An assignment or a call that is a line of its own, or all that an `if` of one line does.
  void plant_drops() {
    const std::regex statement(
        R"(^( *(?:if \([^;]*\) )?)((?:\*?[\w.]+(?:->\w+)*(?:\[[^=]*\])? [-+*/|]?= [^;]*|(?!return|if|for|while|switch|using|static_assert|LAUNCH|SIMT|__sync)[\w.]+(?:->\w+)*(?:<[^;=&]*>)?\([^;]*\));)$)");
    std::istringstream lines(code_);
    std::string line, before = ";";
    size_t begin = 0;
    for (; std::getline(lines, line); begin += line.size() + 1) {
      std::smatch match;
      const bool starts = before.ends_with("else") || std::string(";{}):").find(before.back()) < 5;
      if (starts && std::regex_match(line, match, statement))
        add("drop", begin + static_cast<size_t>(match.length(1)), 0,
            "if (::mutant::on(#)) {} else ");
      if (const size_t last = line.find_last_not_of(' '); last != std::string::npos)
        before = line.substr(0, last + 1);
    }
  }

  std::string file_, text_, code_;
  const std::set<std::string>& left_out_;
  int& number_;
  std::ostream& list_;
  std::vector<Edit> edits_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::cerr << "usage: mutants OUT LEFT_OUT SOURCE...\n", 2;
  const std::string out = argv[1];
  std::set<std::string> left_out;
  std::ifstream names(argv[2]);
  for (std::string name; names >> name;) left_out.insert(name);
  std::ofstream list(out + "/mutants.txt");
  int number = 0;
  for (int i = 3; i < argc; ++i) {
    const std::string file = std::filesystem::path(argv[i]).filename();
    std::ofstream(out + "/" + file)
        << Mutator(file, read(argv[i]), left_out, number, list).mutated();
  }
  return 0;
}
