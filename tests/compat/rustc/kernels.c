/* The kernels of the programs here: a pointer of the runtime, then arguments of one word
   each. */
#include <stdint.h>
#include <string.h>

/* A float's bits are the lower half of its word. */
static float real(uint64_t word)
{
    uint32_t bits = (uint32_t)word;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void scale(void *unused, double *x, const int32_t *k, uint64_t n, uint64_t factor)
{
    (void)unused;
    for (int i = 0; i < 256; i++)
        x[i] = x[i] * real(factor) + k[i % 4] + (uint32_t)n;
}

void numbers(void *unused, uint64_t *out, uint64_t byte, uint64_t word, uint64_t number)
{
    (void)unused;
    out[0] = (uint8_t)byte;
    out[1] = (uint32_t)word;
    out[2] = number;
}

void reverse(void *unused, uint32_t *x)
{
    (void)unused;
    for (int i = 0; i < 500; i++) {
        uint32_t other = x[999 - i];
        x[999 - i] = x[i];
        x[i] = other;
    }
}

/* Its only result is in a static variable. */
static uint32_t seen;

void look(void *unused, const uint32_t *x)
{
    (void)unused;
    seen += x[7];
}

void tell(void *unused, uint32_t *x)
{
    (void)unused;
    x[0] = seen;
}
