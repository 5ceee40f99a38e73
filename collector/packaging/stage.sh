#!/usr/bin/env bash
# Puts the files of packages into target/packages/files: the binary, what the binary itself prints, and the plugin.
#   stage.sh BINARY PLUGIN
source "$(dirname "$0")/places.sh"
need strip gzip
stage=$out/files
rm -rf "$stage"
mkdir -p "$stage"/{usr/bin,usr/lib/railscope,etc/railscope,usr/share/man/man1,usr/share/bash-completion/completions} \
  "$stage"/usr/share/{fish/vendor_completions.d,zsh/vendor-completions} \
  "$stage"/usr/share/railscope/{rules,boards,wireshark/railscope}
program=$stage/usr/bin/railscope
# Lines for backtraces make four fifths of the binary; they go into a file of their own.
objcopy --only-keep-debug --compress-debug-sections "$1" "$out/railscope.debug"
objcopy --strip-all --remove-section=.comment "$1" "$program"
(cd "$out" && objcopy --add-gnu-debuglink=railscope.debug "$program")
chmod 755 "$program"
# By the name that NCCL looks for.
plugin=$stage/usr/lib/railscope/libnccl-profiler-railscope.so
objcopy --strip-all --remove-section=.comment "$2" "$plugin"
chmod 644 "$plugin"
"$packaging/check/plugin.sh" "$plugin"

"$program" man-pages "$stage/usr/share/man/man1"
"$program" completions bash > "$stage/usr/share/bash-completion/completions/railscope"
"$program" completions fish > "$stage/usr/share/fish/vendor_completions.d/railscope.fish"
"$program" completions zsh > "$stage/usr/share/zsh/vendor-completions/_railscope"
cp collector/collector.example.toml "$stage/etc/railscope/collector.toml"
cp dashboards/prometheus/{alerts,recording}.yaml "$stage/usr/share/railscope/rules/"
cp dashboards/*.json "$stage/usr/share/railscope/boards/"
cp collector/packaging/wireshark/nccl.lua "$stage/usr/share/railscope/wireshark/"
cp collector/packaging/wireshark/railscope/* "$stage/usr/share/railscope/wireshark/railscope/"

cat > "$out/changelog" << CHANGELOG
railscope ($release-1) unstable; urgency=medium

  * railscope $version; see CHANGELOG.md in the sources.

 -- The railscope authors <railscope@railscope.example>  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
CHANGELOG
find "$stage" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
