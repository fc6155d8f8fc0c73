#!/usr/bin/env bash
# verbatim.sh DOCUMENT FOLDER...: every paragraph of C++ in a document stands, line for line, in a
# .cu file of one of the folders.
set -euo pipefail
document=$1
shift
perl -0777 -e '
  my $document = shift;
  my @sources = map { open my $in, "<", $_ or die "$_: $!\n"; <$in> } map { glob "$_/*.cu" } @ARGV;
  open my $in, "<", $document or die "$document: $!\n";
  my ($text, $blocks, $missing) = (scalar <$in>, 0, 0);
  while ($text =~ /^```cpp\n(.*?)^```$/msg) {
    for my $part (split /\n\n/, $1) {
      ++$blocks;
      next if grep { index($_, $part) >= 0 } @sources;
      ++$missing;
      print "in no source:\n$part\n";
    }
  }
  print "$blocks paragraphs, $missing in no source\n";
  exit($blocks == 0 || $missing > 0);
' "$document" "$@"
