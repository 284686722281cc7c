// Kernels of the driver's tests, for GPUs of generation 9 (s0: arguments, from s[4:5]).

.macro kernel name, kernarg=16
.text
.globl \name
.p2align 8
.type \name,@function
\name:
.endm

.macro end name, kernarg=16, group=0, private=0
.size \name, .-\name
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel \name
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size \kernarg
  .amdhsa_group_segment_fixed_size \group
  .amdhsa_private_segment_fixed_size \private
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
.end_amdhsa_kernel
.text
.endm

// Stores a word: its address and its value.
kernel store
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v0, s4
  v_mov_b32_e32 v1, s5
  v_mov_b32_e32 v2, s6
  v_mov_b32_e32 v3, s7
  global_store_dwordx2 v[0:1], v[2:3], off
  s_waitcnt vmcnt(0)
  s_endpgm
end store

// Waits until a word has a value, whose low half counts: its address and the value.
kernel wait
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v0, s4
  v_mov_b32_e32 v1, s5
.Lagain:
  global_load_dword v2, v[0:1], off glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v2
  s_cmp_lg_u32 s8, s6
  s_cbranch_scc1 .Lagain
  s_endpgm
end wait

kernel trap
  s_trap 2
  s_endpgm
end trap, 0

kernel illegal
  .long 0xffffffff
  s_endpgm
end illegal, 0

kernel beyond_lds
  v_mov_b32_e32 v0, 64
  ds_read_b32 v1, v0
  s_endpgm
end beyond_lds, 0

kernel large
  s_endpgm
end large, 0, 1024, 256

.section .data,"aw",@progbits
.globl number
.type number,@object
.size number,8
.p2align 3
number:
  .quad 0x0102030405060708
.globl address
.type address,@object
.size address,8
address:
  .quad number

.section .rodata,"a",@progbits
.globl constant
.type constant,@object
.size constant,4
.p2align 2
constant:
  .long 7

.bss
.globl zeros
.type zeros,@object
.size zeros,4096
.p2align 3
zeros:
  .zero 4096
