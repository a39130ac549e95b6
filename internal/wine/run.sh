#!/usr/bin/env bash
# Runs the tests of the path gate as Windows programs under Wine:
#
#   internal/wine/run.sh [-test.v ...]
#
# Wine gives Windows' own rules for names (case, trailing dots and spaces, devices,
# illegal characters). It does not give streams and 8.3 names; the NTFS test of
# internal/rootfs covers streams. Where there is no Wine the test programs are built,
# the reason is printed, and the exit code is 0: a build that fails is a failure
# anywhere. WINE_REQUIRED=1 makes the absence one too.
#
# Wine before 9.0 lacks bcryptprimitives.dll, without which no Go program starts; the
# script puts one into its own prefix that forwards to what Wine has.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export GOOS=windows GOARCH=amd64 CGO_ENABLED=0

for pkg in fold relpath rootfs; do
  echo "build internal/$pkg for $GOOS/$GOARCH"
  go test -c -o "$tmp/$pkg.exe" "./internal/$pkg"
done

# absent ends the script: there is nothing to run the programs with.
absent() {
  echo "not run: $1"
  [[ ${WINE_REQUIRED:-0} != 1 ]]
  exit
}

wine=$(command -v wine64 || command -v wine) || absent "no wine on the PATH"
export WINEDEBUG=-all WINEPREFIX="$tmp/prefix"
trap 'wineserver -k >/dev/null 2>&1 || true; rm -rf "$tmp"' EXIT # of this prefix alone

starts() { "$wine" "$tmp/fold.exe" -test.list '^TestKeyEqual$' >"$tmp/out" 2>&1; }

version=$("$wine" --version 2>/dev/null) || absent "$wine does not run"
"$wine" wineboot -i >/dev/null 2>&1 || absent "$version cannot make a prefix"
if ! starts; then
  env -u GOOS -u GOARCH go run internal/wine/gen/forwarder.go "$tmp/bcryptprimitives.dll"
  mv "$tmp/bcryptprimitives.dll" "$WINEPREFIX/drive_c/windows/system32/"
  starts || { tail -n 20 "$tmp/out"; absent "$version cannot start a Go program"; }
fi

# What Wine cannot do and Windows can: delete, link and rename over through an
# os.Root, and so the cleanup of t.TempDir; symbolic links.
skip='^(TestConformance|TestConformanceExchange|TestLock.*|TestResolveOutside|TestOverlaps|TestOpen)$'

for pkg in fold relpath rootfs; do
  echo "run internal/$pkg under $version"
  [[ $pkg == rootfs ]] && echo "left out, Wine cannot delete or link through os.Root: $skip"
  (cd "internal/$pkg" && "$wine" "$tmp/$pkg.exe" -test.skip "$skip" -test.timeout 5m "$@")
done
