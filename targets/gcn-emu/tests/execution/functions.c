/* Functions that give the same results on a GPU and on the host, whose compiler runs them too. */

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
typedef unsigned long u64;
typedef int i32;
typedef long i64;

#define INPUTS 16
#define OUTPUTS 16
#define noinline __attribute__((noinline))

static u32 bits_of(float value) { u32 bits; __builtin_memcpy(&bits, &value, 4); return bits; }
static float float_of(u32 bits) { float value; __builtin_memcpy(&value, &bits, 4); return value; }
static u64 bits64_of(double value) { u64 bits; __builtin_memcpy(&bits, &value, 8); return bits; }
static double double_of(u64 bits) { double value; __builtin_memcpy(&value, &bits, 8); return value; }
static u64 wide(const u32 *in, u32 at) { return (u64)in[at + 1] << 32 | in[at]; }
static void put64(u32 *out, u32 at, u64 value) { out[at] = (u32)value; out[at + 1] = (u32)(value >> 32); }
/* NaNs have no defined sign and payload. */
static u32 float_bits(float value) { return value == value ? bits_of(value) : 0x7fc00000u; }
static u64 double_bits(double value) { return value == value ? bits64_of(value) : 0x7ff8000000000000ul; }

static void integers(const u32 *in, u32 *out) {
  u32 a = in[0], b = in[1] | 1, c = in[2];
  out[0] = a / b; out[1] = a % b;
  out[2] = (u32)((i32)a / (i32)(b >> 1 | 1)); out[3] = (u32)((i32)a % (i32)(b >> 1 | 1));
  out[4] = (u32)(((u64)a * b) >> 32); out[5] = (u32)(((i64)(i32)a * (i32)b) >> 32);
  out[6] = a << (c & 31) | a >> (-c & 31);
  out[7] = a ? (u32)__builtin_clz(a) : 32; out[8] = a ? (u32)__builtin_ctz(a) : 32;
  out[9] = (u32)__builtin_popcount(a); out[10] = __builtin_bitreverse32(a);
  out[11] = __builtin_bswap32(a);
  out[12] = a > b ? a : b; out[13] = (i32)a < (i32)c ? a : c;
  out[14] = (u32)((i32)a >> (c & 31)); out[15] = (a & b) | (~a & c);
}

static void wide_integers(const u32 *in, u32 *out) {
  u64 a = wide(in, 0), b = wide(in, 2) | 1, c = in[4] | 1;
  put64(out, 0, a + b); put64(out, 2, a - b); put64(out, 4, a * b);
  put64(out, 6, a / b + a % b); put64(out, 8, (u64)((i64)a / (i64)(c) + (i64)a % (i64)c));
  put64(out, 10, a << (c & 63) | a >> (-c & 63)); put64(out, 12, (u64)((i64)a >> (c & 63)));
  out[14] = (a < b) + 2 * ((i64)a < (i64)b) + 4 * (a == b);
  out[15] = (u32)__builtin_popcountl(a) + (a ? (u32)__builtin_clzl(a) : 64);
}

static void floats(const u32 *in, u32 *out) {
  float a = float_of(in[0]), b = float_of(in[1]), c = float_of(in[2]);
  out[0] = float_bits(a + b); out[1] = float_bits(a - b); out[2] = float_bits(a * b);
  out[3] = float_bits(a / b); out[4] = float_bits(__builtin_sqrtf(a));
  out[5] = float_bits(__builtin_fmaf(a, b, c)); out[6] = float_bits(-a * b);
  out[7] = float_bits(__builtin_fabsf(a) - b); out[8] = float_bits(__builtin_floorf(a));
  out[9] = float_bits(__builtin_truncf(b)); out[10] = float_bits(__builtin_ceilf(c));
  out[11] = (a < b) + 2 * (a <= c) + 4 * (a == b) + 8 * (a != c) + 16 * (b > c);
  out[12] = __builtin_isnan(a) + 2 * __builtin_isinf(b) + 4 * (__builtin_signbit(c) != 0);
  out[13] = float_bits((float)(i32)in[0]); out[14] = float_bits((float)in[1]);
  float d = (float)(in[3] >> 8) / 16.0f;
  out[15] = (u32)d + (u32)(i32)-d;
}

static void doubles(const u32 *in, u32 *out) {
  double a = double_of(wide(in, 0)), b = double_of(wide(in, 2)), c = double_of(wide(in, 4));
  put64(out, 0, double_bits(a + b)); put64(out, 2, double_bits(a * b));
  put64(out, 4, double_bits(a / b)); put64(out, 6, double_bits(__builtin_sqrt(a)));
  put64(out, 8, double_bits(__builtin_fma(a, b, c))); put64(out, 10, double_bits(__builtin_floor(b)));
  out[12] = float_bits((float)a); out[13] = (u32)(a < b) + 2 * (a == c) + 4 * (b >= c);
  put64(out, 14, double_bits((double)(i64)wide(in, 6) - (double)(float)c));
}

static void narrow(const u32 *in, u32 *out) {
  const u8 *bytes = (const u8 *)in;
  const signed char *chars = (const signed char *)in;
  const u16 *halves = (const u16 *)in;
  const short *shorts = (const short *)in;
  for (u32 i = 0; i < 4; i++) {
    out[i] = (u32)bytes[i] * bytes[7 - i] + (u32)(chars[i + 8] + chars[11 - i]);
    out[4 + i] = (u32)(u16)(halves[i] + halves[i + 4]) | (u32)(u16)(halves[i] * halves[i + 5]) << 16;
    out[8 + i] = (u32)(shorts[i] * shorts[i + 3]) ^ (u32)(u16)((short)(shorts[i] >> 3));
  }
  u8 *stored = (u8 *)(out + 12);
  for (u32 i = 0; i < 8; i++) stored[i] = bytes[15 - i];
  u16 *stored16 = (u16 *)(out + 14);
  for (u32 i = 0; i < 4; i++) stored16[i] = (u16)(halves[i] > halves[i + 8] ? halves[i] : shorts[i + 8]);
}

static void halves(const u32 *in, u32 *out) {
  _Float16 a = (_Float16)((float)(i32)in[0] / 65536.0f), b = (_Float16)((float)(i32)in[1] / 1048576.0f);
  _Float16 results[8] = {a + b, a - b, a * b, a > b ? a : b, (_Float16)(-a), a / b, (_Float16)(float)(i32)(in[2] >> 20), b * b};
  for (u32 i = 0; i < 8; i++) out[i] = float_bits((float)results[i]);
  out[8] = (u32)(i32)(float)a; out[9] = (a < b) + 2 * (a == b) + 4 * (a != a);
  for (u32 i = 10; i < 16; i++) out[i] = 0;
}

/* Float operations for which gfx12 has scalar instructions. */
static void uniform_floats(const u32 *in, u32 *out) {
  float a = float_of(in[0]), b = float_of(in[1]), c = float_of(in[2]);
  out[0] = float_bits(__builtin_fmaf(a, b, c)); out[1] = float_bits(__builtin_fmaf(a, b, 1.5f));
  out[2] = float_bits(__builtin_fmaf(a, 2.5f, c)); out[3] = float_bits(__builtin_rintf(a));
  /* The order of zeros is not defined. */
  out[4] = float_bits(__builtin_fminf(a, b) + 0.0f); out[5] = float_bits(__builtin_fmaxf(a, b) + 0.0f);
  out[6] = (a < b) + 2 * (a >= b) + 4 * !(a < c) + 8 * !(a == b) + 16 * (a != a || b != b) + 32 * (a < b || a > b);
  _Float16 h = (_Float16)((float)(i32)in[3] / 65536.0f), i = (_Float16)((float)(i32)in[4] / 1048576.0f);
  out[7] = float_bits((float)__builtin_floorf16(h)); out[8] = float_bits((float)__builtin_ceilf16(i));
  out[9] = float_bits((float)__builtin_truncf16(h)); out[10] = float_bits((float)__builtin_rintf16(h));
  out[11] = (h < i) + 2 * (h >= i) + 4 * (h == i) + 8 * (h != i) + 16 * !(h > i);
  out[12] = float_bits((float)(h < i ? h : i)); out[13] = (u32)(a > 0 && a < 1e9f ? (u32)a : 0);
  out[14] = float_bits((float)(_Float16)(h + i)); out[15] = float_bits((float)(_Float16)(h * i));
}

static noinline u32 fibonacci(u32 n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
static noinline u32 doubled(u32 a) { return 2 * a; }
static noinline u32 squared(u32 a) { return a * a; }
static noinline u32 negated(u32 a) { return -a; }

static void calls(const u32 *in, u32 *out) {
  u32 (*functions[])(u32) = {doubled, squared, negated, fibonacci};
  out[0] = fibonacci(in[0] % 9);
  for (u32 i = 1; i < 8; i++) out[i] = functions[in[i] & 1 ? 0 : in[i] >> 1 & 1 ? 1 : 2](in[i]);
  for (u32 i = 8; i < 16; i++) {
    switch (in[i] % 11) {
    case 0: out[i] = in[i] + 1; break;
    case 1: out[i] = in[i] * 3; break;
    case 2: out[i] = in[i] ^ 0x55; break;
    case 3: out[i] = in[i] >> 3; break;
    case 4: out[i] = doubled(in[i]); break;
    case 5: out[i] = ~in[i]; break;
    case 6: out[i] = in[i] & in[i - 1]; break;
    case 7: out[i] = in[i] | in[i - 1]; break;
    case 8: out[i] = squared(in[i]); break;
    default: out[i] = 7;
    }
  }
}

struct Big { u32 words[24]; };
static noinline struct Big reversed(struct Big big, u32 by) {
  struct Big result;
  for (u32 i = 0; i < 24; i++) result.words[i] = big.words[(23 - i + by) % 24];
  return result;
}

static void stack(const u32 *in, u32 *out) {
  struct Big big;
  for (u32 i = 0; i < 24; i++) big.words[i] = in[i % INPUTS] + i;
  big = reversed(big, in[0] % 24);
  u8 text[64];
  for (u32 i = 0; i < 64; i++) text[i] = (u8)(big.words[i % 24] >> (i % 4));
  for (u32 i = 0; i < 63; i++)
    for (u32 j = 0; j < 63 - i; j++)
      if (text[j] > text[j + 1]) { u8 held = text[j]; text[j] = text[j + 1]; text[j + 1] = held; }
  __builtin_memcpy(out, text, 64);
}

typedef void function(const u32 *in, u32 *out);
