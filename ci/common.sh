# shellcheck shell=bash
# Sourced by every script in ci/: sets the working directory to the
# repository's root, finds cargo, and reports skipped jobs.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# rustup's folder for cargo, for shells that have not read its profile.
PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"

# Exit status of a job that could not run here. `ci/test` counts such jobs.
readonly SKIPPED=77

# skip REASON: ends the job, with its reason as the last line.
skip() {
    echo "SKIPPED $(basename "$0"): $1"
    exit "$SKIPPED"
}

# ci/setup puts NVIDIA's assemblers here. The path is absolute because tests run in other folders.
ptxas_place=$(realpath -m "${CARGO_TARGET_DIR:-target}/ci/ptxas")
if [ -z "${REVOFF_PTXAS:-}" ]; then
    for found in "$ptxas_place"/*/nvidia/*/bin/ptxas; do
        [ ! -x "$found" ] || REVOFF_PTXAS=${REVOFF_PTXAS:+$REVOFF_PTXAS:}$found
    done
    export REVOFF_PTXAS=${REVOFF_PTXAS:-}
fi

# ci/setup puts LLVM 19's OpenMP runtime for GPUs here.
openmp_place=$(realpath -m "${CARGO_TARGET_DIR:-target}/ci/libomp-19-dev")
readonly openmp_runtime=$openmp_place/usr/lib/llvm-19/lib

# openmp_options: prints the `cargo xtask images --pieces` options for complete clang programs, one
# per line; nothing without that runtime.
openmp_options() {
    [ -e "$openmp_runtime/libomptarget-nvptx-sm_70.bc" ] || return 0
    printf '%s\n' --openmp-runtime "$openmp_runtime"
    local found last=
    for found in "$ptxas_place"/*/nvidia/*/nvvm/libdevice/libdevice.10.bc; do
        [ ! -e "$found" ] || last=$found
    done
    [ -z "$last" ] || printf '%s\n' --libdevice "$last"
}

# need_device_toolchain [OPTION..]: skips the job unless this machine can build the images of `cargo
# xtask images OPTION..`.
need_device_toolchain() {
    local status=0
    cargo build -q --bin xtask
    cargo xtask images --which "$@" || status=$?
    [ "$status" -ne "$SKIPPED" ] || skip "no Rust toolchain that builds for GPUs (see above)"
    [ "$status" -eq 0 ] || exit "$status"
}

# is_deep: whether to run what takes long, too.
is_deep() {
    [ -n "${REVOFF_CI_DEEP:-}" ]
}

# version_ge A B: whether A is B or newer.
version_ge() {
    [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]
}

# need_tests LOG: fails if cargo test ran no test.
need_tests() {
    # Tests that a machine cannot run are ignored, and counted among those that are running.
    if ! grep -qE '[^0-9][1-9][0-9]* passed' "$1"; then
        echo "no test ran: that is no pass"
        return 1
    fi
}
