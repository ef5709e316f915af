#!/usr/bin/env bash
# Runs one stack in a pipeline:
#
#   pipeline.sh plan      plan, and write the report; fails only if the preview fails
#   pipeline.sh preview   the same, and fail on dangers that nobody accepted
#   pipeline.sh apply     plan again, fail on dangers that nobody accepted, apply, and check that no changes are left
#   pipeline.sh drift     exit with 3 if somebody changed something by hand, else with 0
#
# PULUMI_STACK names the stack. ACCEPT lists the digests of accepted dangers, separated by spaces. PULUMI and EDGEGUARD set other
# commands than `pulumi` and `npx edgeguard`, OUT another output folder, and FAIL_ON other dangers to fail on (see
# `edgeguard report --help`).
set -euo pipefail

: "${PULUMI_STACK:?set PULUMI_STACK to the name of the stack}"
read -ra pulumi <<<"${PULUMI:-pulumi}"
read -ra edgeguard <<<"${EDGEGUARD:-npx edgeguard}"
out=${OUT:-out}
gate=(--fail-on "${FAIL_ON:-irreversible,unprotect,removes}")
read -ra accepted <<<"${ACCEPT:-}"
for digest in ${accepted[@]+"${accepted[@]}"}; do gate+=(--accept "$digest"); done

# Whether the CLI failed because of --expect-no-changes. Older versions exit with 255, so their message decides.
unmet() { # $1 exit code, $2 file with what was printed
  [ "$1" -eq 7 ] || { [ "$1" -ne 0 ] && grep -q "no changes were expected" "$2"; }
}

# Sets `gated` to 0 if the plan passes.
plan() {
  local planned=0
  gated=0
  "${pulumi[@]}" preview --json --show-sames --non-interactive >"$out/preview.json" || planned=$?
  "${edgeguard[@]}" report "$out/preview.json" --format json "${gate[@]}" >"$out/report.json" 2>/dev/null || true
  "${edgeguard[@]}" report "$out/preview.json" "${gate[@]}" >"$out/report.md" 2>"$out/gate.txt" || gated=$?
  cat "$out/report.md"
  # A failed preview has a report, too, which says what failed. Without a report, gate.txt says why.
  [ -s "$out/report.md" ] && [ "$planned" -eq 0 ] && return
  cat "$out/gate.txt" >&2
  [ "$planned" -eq 0 ] || return "$planned"
  return "$gated"
}

preview() {
  plan || return
  [ "$gated" -eq 0 ] && return
  cat "$out/gate.txt" >&2
  return "$gated"
}

apply() {
  local code=0
  preview || code=$?
  [ "$code" -eq 0 ] || { echo "nothing was applied" >&2; return "$code"; }
  "${pulumi[@]}" up --yes --skip-preview --non-interactive
  verify
}

verify() {
  local code=0
  "${pulumi[@]}" preview --expect-no-changes --non-interactive >"$out/verify.txt" 2>&1 || code=$?
  [ "$code" -eq 0 ] && return
  cat "$out/verify.txt"
  unmet "$code" "$out/verify.txt" && echo "applied, but changes are left: see above" >&2
  return "$code"
}

drift() {
  local code=0
  "${pulumi[@]}" refresh --preview-only --diff --expect-no-changes --non-interactive >"$out/drift.txt" 2>&1 || code=$?
  [ "$code" -eq 0 ] && { echo "no drift"; return; }
  cat "$out/drift.txt"
  unmet "$code" "$out/drift.txt" && return 3
  return "$code"
}

mkdir -p "$out"
case "${1:-}" in
  plan | preview | apply | drift) "$1" ;;
  *)
    echo "usage: $(basename "$0") plan|preview|apply|drift" >&2
    exit 2
    ;;
esac
