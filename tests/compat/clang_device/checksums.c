// Checksums of blocks: tables, rotations, bytes in words.
#include <stdint.h>
#include <stdio.h>

#pragma omp begin declare target
static uint32_t crc(const uint8_t *data, int n) {
    uint32_t c = ~0u;
    for (int i = 0; i < n; i++) {
        c ^= data[i];
        for (int k = 0; k < 8; k++)
            c = c >> 1 ^ (0xedb88320 & -(c & 1));
    }
    return ~c;
}
static const uint32_t constants[8] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5,
                                      0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5};
static uint32_t turn(uint32_t x, int n) { return x >> n | x << (32 - n); }
static uint32_t mix(const uint8_t *data, int n) {
    uint32_t s[4] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a};
    for (int i = 0; i < n; i++) {
        uint32_t t = s[3] + (turn(s[0], 6) ^ turn(s[0], 11) ^ turn(s[0], 25)) + constants[i % 8] + data[i];
        s[3] = s[2];
        s[2] = s[1];
        s[1] = turn(s[0], 2) + (s[0] & s[2]);
        s[0] = t;
    }
    return s[0] ^ s[1] ^ s[2] ^ s[3];
}
#pragma omp end declare target

int main(void) {
    static uint8_t data[64][48];
    uint32_t crcs[64], mixed[64];
    for (int i = 0; i < 64 * 48; i++)
        data[i / 48][i % 48] = (uint8_t)(i * i + i / 3);
    #pragma omp target teams distribute parallel for map(to : data) map(from : crcs, mixed)
    for (int i = 0; i < 64; i++) {
        crcs[i] = crc(data[i], 48);
        mixed[i] = mix(data[i], 48);
    }
    uint32_t all[2] = {0, 0};
    for (int i = 0; i < 64; i++) {
        all[0] = all[0] * 31 + crcs[i];
        all[1] = all[1] * 31 + mixed[i];
    }
    printf("%08x %08x %08x %08x\n", crcs[0], mixed[63], all[0], all[1]);
    return 0;
}
