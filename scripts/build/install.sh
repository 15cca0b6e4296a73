#!/bin/sh
# Installs picpool @VERSION@ for this machine:
#   curl -fsSL RELEASE/install.sh | sh
#   PREFIX=/opt/picpool sh install.sh     elsewhere than in /usr/local, or ~/.local where you are not root
#   sh install.sh --remove                takes it away again; data are not touched
# Nothing is installed unless SHA256SUMS is signed by a key below and the archive has its sum. PICPOOL_KEYS names a file of keys,
# as `ssh-ed25519 AAAA...`, to use instead; PICPOOL_RELEASE is another folder of the same files, as a URL.
set -eu

version='@VERSION@'
release=${PICPOOL_RELEASE:-'@RELEASE_URL@'}
keys='@KEYS@'

fail() {
  printf 'picpool: %s\n' "$*" >&2
  exit 1
}

fetch() {
  if command -v curl >/dev/null; then
    curl -fsSL --retry 2 -o "$2" "$1"
  elif command -v wget >/dev/null; then
    wget -q -O "$2" "$1"
  else
    fail 'curl or wget is needed.'
  fi || fail "$1 cannot be fetched."
}

sum_of() {
  if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

platform() {
  case $(uname -m) in
    x86_64 | amd64) cpu=x64 ;;
    aarch64 | arm64) cpu=arm64 ;;
    *) fail "There is no binary for $(uname -m)." ;;
  esac
  case $(uname -s) in
    Linux)
      # The loader of musl has its name. `ls` fails if one of two patterns matches nothing.
      if ls /lib/ld-musl-* >/dev/null 2>&1 && [ -z "$(ls /lib*/ld-linux-* /lib/*/ld-linux-* 2>/dev/null)" ]; then
        echo "linuxmusl-$cpu"
      else
        echo "linux-$cpu"
      fi
      ;;
    Darwin) echo "darwin-$cpu" ;;
    *) fail "There is no binary for $(uname -s)." ;;
  esac
}

# Checks that one of the keys has signed the sums.
verify() {
  command -v ssh-keygen >/dev/null || fail 'ssh-keygen (OpenSSH 8.2 or later) is needed to check the signature.'
  if [ -n "${PICPOOL_KEYS:-}" ]; then cat "$PICPOOL_KEYS"; else printf '%s\n' "$keys"; fi |
    sed -nE 's/^(ssh|ecdsa|sk)-/picpool namespaces="picpool-release" &/p' >"$scratch/signers"
  [ -s "$scratch/signers" ] || fail 'No key is known that may sign this release. Set PICPOOL_KEYS.'
  ssh-keygen -Y verify -f "$scratch/signers" -I picpool -n picpool-release -s "$scratch/SHA256SUMS.sig" \
    <"$scratch/SHA256SUMS" >/dev/null 2>&1 || fail 'The signature of the release is wrong. Nothing was installed.'
}

files='bin/picpool share/man/man1/picpool.1 share/bash-completion/completions/picpool share/zsh/site-functions/_picpool
share/fish/vendor_completions.d/picpool.fish'

install_files() {
  name="picpool-$version-$(platform)"
  command -v sha256sum >/dev/null || command -v shasum >/dev/null || fail 'sha256sum or shasum is needed.'
  [ -n "$release" ] || fail 'Set PICPOOL_RELEASE to the URL of the folder with the files of the release.'
  mkdir -p "$prefix"
  # Beside its place, because a move within one file system is atomic, and programs may be run there.
  scratch=$(mktemp -d "$prefix/.picpool-XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  # Not every shell does so when a signal ends it.
  trap 'exit 1' HUP INT TERM
  for file in SHA256SUMS SHA256SUMS.sig "$name.tar.gz"; do fetch "$release/$file" "$scratch/$file"; done
  verify
  wanted=$(sed -n "s/^\([0-9a-f]\{64\}\)  $name\.tar\.gz\$/\1/p" "$scratch/SHA256SUMS")
  # The sums of another release, which are signed as well, have none for it.
  { [ -n "$wanted" ] && [ "$(sum_of "$scratch/$name.tar.gz")" = "$wanted" ]; } ||
    fail "$name.tar.gz is not the file that was released. Nothing was installed."
  tar -xzf "$scratch/$name.tar.gz" -C "$scratch"
  said=$("$scratch/$name/bin/picpool" --version 2>&1) ||
    fail "The binary does not run here, so that nothing was installed: $said"
  for file in $files; do
    mkdir -p "$prefix/${file%/*}"
    mv -f "$scratch/$name/$file" "$prefix/$file"
  done
  printf 'picpool %s is installed: %s/bin/picpool\n' "$said" "$prefix" >&2
  case ":$PATH:" in *":$prefix/bin:"*) ;; *) printf '%s/bin is not on the PATH.\n' "$prefix" >&2 ;; esac
}

remove_files() {
  for file in $files; do rm -f "$prefix/$file"; done
  printf 'picpool is removed from %s.\n' "$prefix" >&2
}

main() {
  if [ "$(id -u)" = 0 ]; then prefix=${PREFIX:-/usr/local}; else prefix=${PREFIX:-$HOME/.local}; fi
  case ${1:-} in
    '') install_files ;;
    --remove) remove_files ;;
    *) fail "$1 is not known; there is --remove." ;;
  esac
}

# The last line, so that an incomplete download does nothing.
main "$@"
