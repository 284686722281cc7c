#!/usr/bin/env python3
"""Compiles the CUDA C++ files of this folder to the PTX next to them.

Needs NVRTC and CUDA's headers: pip install nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12
nvidia-cuda-nvcc-cu12 nvidia-cuda-cccl-cu12. The PTX is committed, so tests need none of them.
"""

import collections
import ctypes
import pathlib
import re
import sys

import nvidia.cuda_cccl
import nvidia.cuda_nvcc
import nvidia.cuda_nvrtc
import nvidia.cuda_runtime

FILES = {"wmma": 80, "mma": 90, "copies": 80, "hopper": 90}


def folder(package, name):
    return pathlib.Path(package.__path__[0]) / name


def compile_to_ptx(nvrtc, source, arch):
    program = ctypes.c_void_p()
    text = source.read_bytes()
    check = lambda status: status == 0 or sys.exit(f"{source.name}: NVRTC error {status}")
    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, source.name.encode(), 0, None, None))
    options = [f"--gpu-architecture=compute_{arch}", "--std=c++17", "--fmad=true"]
    for package in (nvidia.cuda_runtime, nvidia.cuda_nvcc, nvidia.cuda_cccl):
        options.append(f"--include-path={folder(package, 'include')}")
    array = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    status = nvrtc.nvrtcCompileProgram(program, len(options), array)
    size = ctypes.c_size_t()
    if status != 0:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.exit(log.value.decode())
    check(nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)))
    ptx = ctypes.create_string_buffer(size.value)
    check(nvrtc.nvrtcGetPTX(program, ptx))
    return ptx.value.decode()


def shortened(text):
    """Without comments, and without the constants of CUDA's headers that no function uses."""
    lines = [re.sub(r"\s*//.*", "", line).rstrip() for line in text.splitlines()]
    words = collections.Counter(re.findall(r"[A-Za-z0-9_$%]+", "\n".join(lines)))
    kept = []
    for line in lines:
        variable = re.match(r"\.global (?:\.\w+ (?:\d+ )?)+(\w+).*;$", line)
        if line and not (variable and words[variable[1]] == 1):
            kept.append(line)
    return "\n".join(kept) + "\n"


def main():
    nvrtc = ctypes.CDLL(str(next(folder(nvidia.cuda_nvrtc, "lib").glob("libnvrtc.so.*"))))
    here = pathlib.Path(__file__).parent
    for name, arch in FILES.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        text = compile_to_ptx(nvrtc, here / f"{name}.cu", arch)
        (here / f"{name}.ptx").write_text(shortened(text))


main()
