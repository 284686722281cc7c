/* Kernels that measure the speed of the emulator. */

#define kernel __attribute__((amdgpu_kernel, visibility("protected")))
#define global __attribute__((address_space(1)))
typedef unsigned u32;

static u32 lane(void) { return __builtin_amdgcn_workitem_id_x(); }

kernel void arithmetic(global u32 *out, u32 rounds) {
  u32 a = lane(), b = 1, c = 2, d = 3;
  for (u32 i = 0; i < rounds; i++) {
    a += b; d ^= a; d = d << 16 | d >> 16;
    c += d; b ^= c; b = b << 12 | b >> 20;
    a += b; d ^= a; d = d << 8 | d >> 24;
    c += d; b ^= c; b = b << 7 | b >> 25;
  }
  out[lane()] = a ^ b ^ c ^ d;
}

kernel void dot(global float *out, u32 rounds) {
  float sum = 0;
  for (u32 i = 0; i < rounds; i++)
    sum += out[(i + lane()) & 1023] * out[(i + 512) & 1023];
  out[1024 + lane()] = sum;
}

kernel void stack(global u32 *out, u32 rounds) {
  volatile u32 slots[64];
  for (u32 i = 0; i < 64; i++) slots[i] = i;
  u32 sum = 0;
  for (u32 i = 0; i < rounds; i++) {
    u32 at = (sum + lane()) & 63;
    sum += slots[at];
    slots[at] = sum;
  }
  out[lane()] = sum;
}

__attribute__((noinline)) static u32 mixed(u32 a, u32 b) { return (a ^ b) * 0x9e3779b9u + b; }

kernel void calls(global u32 *out, u32 rounds) {
  u32 sum = lane();
  for (u32 i = 0; i < rounds; i++) sum = mixed(sum, i);
  out[lane()] = sum;
}
