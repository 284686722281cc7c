// Integer arithmetic of every width.
#include <stdint.h>
#include <stdio.h>

int main(void) {
    static uint64_t results[64][12];
    #pragma omp target teams distribute parallel for map(from : results)
    for (int i = 0; i < 64; i++) {
        uint64_t x = 0x9e3779b97f4a7c15u * (i + 1), y = (x >> 7) | 1;
        int64_t s = (int64_t)x, t = (int64_t)y - (1ll << 40);
        uint64_t *r = results[i];
        r[0] = x / y + x % y;
        r[1] = s / t - s % t;
        r[2] = (uint64_t)((unsigned __int128)x * y >> 64);
        r[3] = (x << i) ^ (x >> (63 - i)) ^ (uint64_t)(s >> i);
        r[4] = __builtin_popcountll(x) * 10000 + __builtin_clzll(y) * 100 + __builtin_ctzll(x | 1ull << 60);
        r[5] = __builtin_bswap64(x) ^ __builtin_bswap32((uint32_t)x) ^ __builtin_bswap16((uint16_t)x);
        r[6] = (uint64_t)((int8_t)x * (int16_t)y) + (uint8_t)(x >> 3) / (uint8_t)(y | 1);
        r[7] = (uint32_t)x / ((uint32_t)y | 1) + (uint32_t)((int32_t)x % ((int32_t)y | 1));
        long sum;
        r[8] = __builtin_saddl_overflow(s, t, &sum) + (uint64_t)sum;
        r[9] = __builtin_bitreverse32((uint32_t)x) + __builtin_rotateleft64(x, i);
        r[10] = x > y ? x - y : y - x;
        unsigned __int128 big = ((unsigned __int128)x << 64 | y) / ((y >> 5) | 1);
        r[11] = (uint64_t)big ^ (uint64_t)(big >> 64);
    }
    uint64_t hash = 0;
    for (int k = 0; k < 12; k++) {
        for (int i = 0; i < 64; i++)
            hash = hash * 0x100000001b3u ^ results[i][k];
        printf("%016lx%c", hash, k % 4 == 3 ? '\n' : ' ');
    }
    return 0;
}
