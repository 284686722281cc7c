; Accesses that Rust cannot express: atomics at agent (device) scope, stores of 16 bytes, loads from memory
; that does not change while a kernel runs, and loads that are in flight together.
;
; librevoff_scoped.a has this module as bitcode. rustc links it with the code of the crates, because
; the member's name is that of a code generation unit. After a change, run
;
;   llvm-as-22 <scoped.ll >scoped.scoped.rcgu.o
;   llvm-ar-22 rcD librevoff_scoped.a scoped.scoped.rcgu.o
;
; `ci/codegen` compares the two.

target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"

define i32 @revoff_agent_load(i64 %at) alwaysinline {
  %word = inttoptr i64 %at to ptr addrspace(1)
  %value = load atomic i32, ptr addrspace(1) %word syncscope("agent") monotonic, align 4
  ret i32 %value
}

define i32 @revoff_agent_load_acquire(i64 %at) alwaysinline {
  %word = inttoptr i64 %at to ptr addrspace(1)
  %value = load atomic i32, ptr addrspace(1) %word syncscope("agent") acquire, align 4
  ret i32 %value
}

define void @revoff_agent_store(i64 %at, i32 %value) alwaysinline {
  %word = inttoptr i64 %at to ptr addrspace(1)
  store atomic i32 %value, ptr addrspace(1) %word syncscope("agent") monotonic, align 4
  ret void
}

define void @revoff_agent_store_release(i64 %at, i32 %value) alwaysinline {
  %word = inttoptr i64 %at to ptr addrspace(1)
  store atomic i32 %value, ptr addrspace(1) %word syncscope("agent") release, align 4
  ret void
}

; The memory is the agent's own and coarse-grained. Without this promise LLVM expands both
; operations to loops of compare-and-swaps, the only ones that a bus could have instead.
define i32 @revoff_agent_or_acquire(i64 %at, i32 %mask) alwaysinline {
  %word = inttoptr i64 %at to ptr addrspace(1)
  %before = atomicrmw or ptr addrspace(1) %word, i32 %mask syncscope("agent") acquire, align 4, !amdgpu.no.fine.grained.memory !0, !amdgpu.no.remote.memory !0
  ret i32 %before
}

define i32 @revoff_agent_and_release(i64 %at, i32 %mask) alwaysinline {
  %word = inttoptr i64 %at to ptr addrspace(1)
  %before = atomicrmw and ptr addrspace(1) %word, i32 %mask syncscope("agent") release, align 4, !amdgpu.no.fine.grained.memory !0, !amdgpu.no.remote.memory !0
  ret i32 %before
}

; For processors whose stores of system scope are plain stores. LLVM must not merge, split or remove
; it, hence the statement behind it.
define void @revoff_store_pair(i64 %at, i64 %first, i64 %second) alwaysinline {
  %pair = inttoptr i64 %at to ptr addrspace(1)
  %low = insertelement <2 x i64> poison, i64 %first, i64 0
  %both = insertelement <2 x i64> %low, i64 %second, i64 1
  store <2 x i64> %both, ptr addrspace(1) %pair, align 16
  call void asm sideeffect "", "~{memory}"()
  ret void
}

; The first argument, which is not used before the second has been loaded, too: LLVM's scheduler may otherwise
; wait for one load before it issues the next.
define i64 @revoff_join_load(i64 %value, i64 %other) alwaysinline {
  %same = call i64 asm sideeffect "", "=v,0,v"(i64 %value, i64 %other)
  ret i64 %same
}

define i32 @revoff_constant_load(ptr %from) alwaysinline {
  %constant = addrspacecast ptr %from to ptr addrspace(4)
  %value = load i32, ptr addrspace(4) %constant, align 4, !invariant.load !0
  ret i32 %value
}

!0 = !{}
