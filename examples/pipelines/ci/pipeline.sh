#!/usr/bin/env bash
# Runs one stack in a pipeline:
#
#   pipeline.sh plan      plan, and write the report; fails only if the preview fails
#   pipeline.sh preview   the same, and fail on dangers that nobody accepted
#   pipeline.sh apply     plan again, fail on dangers that nobody accepted, apply, and check that no changes are left
#   pipeline.sh drift     write the report on what was changed manually; exit with 3 if anything was, else with 0
#
# PULUMI_STACK names the stack. ACCEPT lists the digests of accepted dangers, separated by spaces. PULUMI and EDGEGUARD set other
# commands than `pulumi` and `npx edgeguard`, OUT another output directory, and FAIL_ON other dangers to fail on (see
# `edgeguard report --help`). `apply` always fails on `unseen`, too.
#
# PLAN names a file, which opts in to saved plans: `plan` and `preview` write it, and `apply` applies that plan or nothing. It's
# encrypted with PLAN_PASSPHRASE. Takes git, jq and openssl. Pulumi calls saved plans experimental.
set -euo pipefail

: "${PULUMI_STACK:?set PULUMI_STACK to the name of the stack}"
read -ra pulumi <<<"${PULUMI:-pulumi}"
read -ra edgeguard <<<"${EDGEGUARD:-npx edgeguard}"
out=${OUT:-out}
fail_on=${FAIL_ON:-irreversible,unprotect,blocks,removes,unseen}
# Without credentials, a preview sees nothing of the zone and may leave `unseen` out. An apply may not.
[ "${1:-}" != apply ] || [[ ,$fail_on, == *,unseen,* ]] || fail_on+=,unseen
gate=(--fail-on "$fail_on")
read -ra accepted <<<"${ACCEPT:-}"
for digest in ${accepted[@]+"${accepted[@]}"}; do gate+=(--accept "$digest"); done
saved=${PLAN:-}
if [ -n "$saved" ]; then
  : "${PLAN_PASSPHRASE:?set PLAN_PASSPHRASE to the passphrase of the saved plan}"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi

# Whether the CLI failed because of --expect-no-changes. Older versions exit with 255, so their message decides.
unmet() { # $1 exit code, $2 file with what was printed
  [ "$1" -eq 7 ] || { [ "$1" -ne 0 ] && grep -q "no changes were expected" "$2"; }
}

digest() { openssl dgst -sha256 -r | cut -d" " -f1; }

# What a saved plan holds for, which Pulumi doesn't check: a plan pins the changes of the program, but neither the state nor the
# zones. Which scripts a policy would block and what happened to requests change with the zones' visitors, so they don't count:
# --fail-on blocks and traffic judge them.
# Nor does what only depends on the token: what the preview was allowed to look at, and digests that its key protects.
basis() { # $1 what
  case $1 in
    plan) digest <"$work/plan.json" ;;
    commit) git rev-parse HEAD ;;
    stack) echo "$PULUMI_STACK" ;;
    state) "${pulumi[@]}" stack export | digest ;;
    preview)
      "${pulumi[@]}" preview --refresh --json --show-sames --non-interactive >"$work/refreshed.json" ||
        { jq -r '.diagnostics[]? | select(.severity == "error").message' "$work/refreshed.json" >&2; return 1; }
      jq -cS '[.steps[] | {urn, op, replaceReasons, old: .oldState.inputs,
        new: (if .urn | test("pulumi-nodejs:dynamic/edgeguard:|edgeguard:index:") then .newState.inputs else null end)
      } | del(.old, .new | objects | .impact | objects | .wouldBlock, .versions, .traffic, .known, .seen, .skipped)] | sort' "$work/refreshed.json" | digest
      ;;
  esac
}

# Fails unless the saved plan holds for what is here now.
holds() { # what to compare
  local name planned now
  for name in "$@"; do
    planned=$(sed -n "s/^$name //p" "$work/basis")
    now=$(basis "$name") || return
    [ "$planned" = "$now" ] && continue
    case $name in
      commit | stack) echo "the saved plan is for $name $planned, and this is $now" >&2 ;;
      state) echo "the stack's state has changed since the plan was saved" >&2 ;;
      preview) echo "a zone or the program has changed since the plan was saved" >&2 ;;
      plan) echo "the saved plan is damaged" >&2 ;;
    esac
    echo "plan again, and have the new plan reviewed" >&2
    return 1
  done
}

crypt() { openssl enc "$1" -aes-256-cbc -pbkdf2 -iter 600000 -pass env:PLAN_PASSPHRASE; }

# Runs `plan` or `preview`, then saves the plan. What it holds for is recorded first, so that a later change is noticed.
saving() {
  local name now
  [ -n "$saved" ] || { "$1"; return; }
  for name in commit stack state preview; do
    now=$(basis "$name") || return
    echo "$name $now" >>"$work/basis"
  done
  "$1" || return
  EDGEGUARD_SAVED_PLAN=true "${pulumi[@]}" preview --save-plan "$work/plan.json" --non-interactive >"$work/plan.txt" 2>&1 ||
    { cat "$work/plan.txt" >&2; return 1; }
  echo "plan $(basis plan)" >>"$work/basis"
  tar -cC "$work" basis plan.json | crypt -e >"$work/saved" && mv "$work/saved" "$saved"
}

open_saved() {
  crypt -d <"$saved" 2>"$work/error.txt" | tar -xC "$work" basis plan.json 2>>"$work/error.txt" && return
  echo "can't open the plan in $saved: save one with pipeline.sh plan, with the same PLAN_PASSPHRASE" >&2
  return 1
}

# Sets `gated` to 0 if the plan passes.
plan() {
  local planned=0
  gated=0
  "${pulumi[@]}" preview --json --show-sames --show-replacement-steps --non-interactive >"$out/preview.json" || planned=$?
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
  local up=(--skip-preview)
  [ -z "$saved" ] || { open_saved && holds plan commit stack state; } || code=$?
  [ "$code" -ne 0 ] || preview || code=$?
  [ "$code" -ne 0 ] || [ -z "$saved" ] || holds preview || code=$?
  [ "$code" -eq 0 ] || { echo "nothing was applied" >&2; return "$code"; }
  [ -z "$saved" ] || up=(--plan "$work/plan.json")
  "${pulumi[@]}" up --yes "${up[@]}" --non-interactive
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

# Writes the report on what was changed manually. The preview refreshes in memory, so it leaves the state as it is.
drift() {
  local planned=0 found=0
  "${pulumi[@]}" preview --refresh --json --show-sames --non-interactive >"$out/drift.json" || planned=$?
  "${edgeguard[@]}" report "$out/drift.json" --drift >"$out/drift.md" 2>"$out/drift.txt" || found=$?
  cat "$out/drift.md"
  [ "$found" -eq 0 ] && return "$planned"
  [ "$found" -eq 3 ] || cat "$out/drift.txt" >&2
  return "$found"
}

mkdir -p "$out"
case "${1:-}" in
  plan | preview) saving "$1" ;;
  apply | drift) "$1" ;;
  *)
    echo "usage: $(basename "$0") plan|preview|apply|drift" >&2
    exit 2
    ;;
esac
