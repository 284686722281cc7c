// Kernels of emulated_rocr.c, for GPUs of generation 9. They find their arguments at s[0:1], the workgroup's number
// in s2 and the work-item's in v0.

.macro kernel name
.text
.globl \name
.p2align 8
.type \name,@function
\name:
.endm

.macro end name, kernarg
.size \name, .-\name
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel \name
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size \kernarg
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
.end_amdhsa_kernel
.text
.endm

// Adds words, with 64 work-items in a workgroup: where to, what, how many.
kernel add
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dword s8, s[0:1], 0x10
  s_waitcnt lgkmcnt(0)
  v_lshl_add_u32 v0, s2, 6, v0
  v_cmp_gt_u32_e32 vcc, s8, v0
  s_and_saveexec_b64 s[10:11], vcc
  s_cbranch_execz .Lend
  v_lshlrev_b32_e32 v0, 2, v0
  global_load_dword v1, v0, s[4:5]
  global_load_dword v2, v0, s[6:7]
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v1, v1, v2
  global_store_dword v0, v1, s[4:5]
  s_waitcnt vmcnt(0)
.Lend:
  s_endpgm
end add, 24

// Waits until a word is not 0.
kernel spin
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32_e32 v0, 0
  s_waitcnt lgkmcnt(0)
.Lagain:
  global_load_dword v1, v0, s[4:5] glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s6, v1
  s_cmp_eq_u32 s6, 0
  s_cbranch_scc1 .Lagain
  s_endpgm
end spin, 8
