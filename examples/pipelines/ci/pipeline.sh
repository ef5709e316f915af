#!/usr/bin/env bash
# One stack in a pipeline:
#
#   pipeline.sh plan      plan, and write the report; fails only if the preview fails
#   pipeline.sh preview   the same, and fail on dangers that nobody accepted
#   pipeline.sh apply     plan again, fail on dangers that nobody accepted, apply, and verify that nothing is left to do
#   pipeline.sh drift     has somebody changed something by hand? 0 no, 3 yes
#
# PULUMI_STACK names the stack. ACCEPT lists the digests of accepted dangers, separated by spaces. PULUMI and EDGEGUARD may name
# other commands than `pulumi` and `npx edgeguard`, OUT another folder for what is written, FAIL_ON other reasons to fail (see
# `edgeguard report --help`).
set -euo pipefail

: "${PULUMI_STACK:?name the stack in PULUMI_STACK}"
read -ra pulumi <<<"${PULUMI:-pulumi}"
read -ra edgeguard <<<"${EDGEGUARD:-npx edgeguard}"
out=${OUT:-out}
gate=(--fail-on "${FAIL_ON:-irreversible,unprotect,removes}")
read -ra accepted <<<"${ACCEPT:-}"
for digest in ${accepted[@]+"${accepted[@]}"}; do gate+=(--accept "$digest"); done

# What the CLI ends with where --expect-no-changes was not met; older ones end with 255, and the sentence has to tell.
unmet() { # $1 exit code, $2 file with what was printed
  [ "$1" -eq 7 ] || { [ "$1" -ne 0 ] && grep -q "no changes were expected" "$2"; }
}

# Whether the plan passes is left in `gated`.
plan() {
  local planned=0
  gated=0
  "${pulumi[@]}" preview --json --show-sames --non-interactive >"$out/preview.json" || planned=$?
  "${edgeguard[@]}" report "$out/preview.json" --format json "${gate[@]}" >"$out/report.json" 2>/dev/null || true
  "${edgeguard[@]}" report "$out/preview.json" "${gate[@]}" >"$out/report.md" 2>"$out/gate.txt" || gated=$?
  cat "$out/report.md"
  # A failed preview has a report, too: it says what failed. Without any report, gate.txt says why.
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
  unmet "$code" "$out/verify.txt" && echo "applied, but the plan is not empty: see above" >&2
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
