/* Target regions for tests/regions.rs, which finds each by the function that it is in.
   All but the first take one device pointer, which is then all that a region's argument
   block holds. */

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef long long i64;
typedef unsigned long long u64;

/* A mapped variable: the block holds its device address. */
int sum(void) {
    int s = 7;
#pragma omp target teams distribute parallel for reduction(+ : s) map(tofrom : s)
    for (int i = 0; i < 1000; i++)
        s += i;
    return s;
}

/* r: for each thread of each team its number of teams, team, threads, thread. */
void numbers(i64 *r) {
#pragma omp target teams is_device_ptr(r)
#pragma omp parallel
    {
        int at = omp_get_team_num() * omp_get_num_threads() + omp_get_thread_num();
        r[4 * at] = omp_get_num_teams();
        r[4 * at + 1] = omp_get_team_num();
        r[4 * at + 2] = omp_get_num_threads();
        r[4 * at + 3] = omp_get_thread_num();
    }
}

/* r[8]: rounds; r[0]: times that what a neighbour wrote before a barrier was not there;
   r[1]: passes through a critical section; r[2]: atomic additions; r[3]: a double's;
   r[4]: passes through `single`; r[5]: through `master`; r[6]: the largest value, by a
   named critical section; r[7]: passes through a lock. */
static omp_lock_t lock;
#pragma omp declare target to(lock)

void synchronisation(i64 *r) {
#pragma omp target is_device_ptr(r)
    {
        i64 written[32] = {0}, guarded = 0, locked = 0;
        double real = 0.5;
        int rounds = r[8];
        omp_init_lock(&lock);
#pragma omp parallel
        for (int round = 1; round <= rounds; round++) {
            int me = omp_get_thread_num(), all = omp_get_num_threads();
            written[me] = round;
#pragma omp barrier
            i64 theirs = written[(me + 1) % all];
            if (theirs != round)
#pragma omp atomic
                r[0] += 1;
#pragma omp critical
            guarded++;
#pragma omp atomic
            r[2] += me;
#pragma omp atomic
            real += 0.25 * me;
#pragma omp single
            r[4]++;
#pragma omp master
            r[5]++;
#pragma omp critical(largest)
            r[6] = r[6] > round * me ? r[6] : round * me;
            omp_set_lock(&lock);
            locked++;
            omp_unset_lock(&lock);
#pragma omp barrier
        }
        omp_destroy_lock(&lock);
        r[1] = guarded;
        r[3] = real * 100;
        r[7] = locked;
    }
}

/* r[i] += i * i by loops of each schedule, r[100..]: order of an ordered loop. */
void schedules(i64 *r) {
#pragma omp target is_device_ptr(r)
    {
        int place = 100;
#pragma omp parallel
        {
#pragma omp for schedule(static, 3)
            for (int i = 0; i < 100; i++)
                r[i] += i * i;
#pragma omp for schedule(dynamic, 2)
            for (int i = 0; i < 100; i++)
                r[i] += i * i;
#pragma omp for schedule(guided)
            for (int i = 0; i < 100; i++)
                r[i] += i * i;
#pragma omp for schedule(dynamic) ordered
            for (int i = 0; i < 20; i++) {
#pragma omp ordered
                r[place++] = i;
            }
#pragma omp sections
            {
#pragma omp section
                r[120] = 1;
#pragma omp section
                r[121] = 2;
            }
        }
    }
}

static i64 fibonacci(i64 n) {
    if (n < 2)
        return n;
    i64 a, b;
#pragma omp task shared(a)
    a = fibonacci(n - 1);
#pragma omp task shared(b)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}
#pragma omp declare target to(fibonacci)

/* r[0]: fibonacci(r[0]) by tasks; r[1]: by a task loop; r[2]: two that depend. */
void tasks(i64 *r) {
#pragma omp target is_device_ptr(r)
#pragma omp parallel
#pragma omp single
    {
        r[0] = fibonacci(r[0]);
        i64 s = 0, step = 0;
#pragma omp taskloop shared(s) grainsize(5)
        for (int i = 0; i < 50; i++)
#pragma omp atomic
            s += i;
        r[1] = s;
#pragma omp task shared(step) depend(out : step)
        step = 3;
#pragma omp task shared(step) depend(inout : step)
        step *= 14;
#pragma omp taskwait
        r[2] = step;
    }
}

/* r[0..1024]: by lanes; r[1024]: a reduction; r[1025]: the last value; r[1026]: lanes in
   order; r[1027]: by arrays of each lane's own. */
void lanes(i64 *r) {
#pragma omp target teams distribute parallel for simd is_device_ptr(r)
    for (int i = 0; i < 1024; i++)
        r[i] = i % 3 == 0 ? 5 * i : i % 3 == 1 ? r[i] + i : -i;
}

void lanes_together(i64 *r) {
#pragma omp target is_device_ptr(r)
    {
        i64 s = 0, last = 0;
#pragma omp simd reduction(+ : s) lastprivate(last)
        for (int i = 0; i < 1000; i++) {
            last = 3 * r[i];
            s += last;
        }
        r[1024] = s;
        r[1025] = last;
        /* Of whole warps: in a last round of fewer GCC would have all lanes vote, those
           that are past the loop, too. */
        volatile i64 *order = r + 1026;
        *order = 1;
#pragma omp simd
        for (int i = 0; i < 64; i++) {
#pragma omp ordered simd
            *order = *order * 7 + i;
        }
        s = 0;
        i64 own[8];
#pragma omp simd reduction(+ : s) private(own)
        for (int i = 0; i < 100; i++) {
            for (int j = 0; j < 8; j++)
                own[j] = i * j;
            for (int j = 0; j < i % 9; j++)
                s += own[(j * 5 + i) % 8];
        }
        r[1027] = s;
    }
}

/* r: 64 arguments, then 64 results of each function. */
void math_double(double *r) {
#pragma omp target teams distribute parallel for is_device_ptr(r)
    for (int i = 0; i < 64; i++) {
        double x = r[i];
        r[64 + i] = sqrt(fabs(x));
        r[128 + i] = exp(x);
        r[192 + i] = sin(x);
        r[256 + i] = pow(fabs(x), 1.7);
        r[320 + i] = log(fabs(x) + 0.5);
        r[384 + i] = x / 3.7;
        r[448 + i] = floor(x);
        r[512 + i] = fma(x, x, -1.0);
        r[576 + i] = cos(x);
        r[640 + i] = fmod(x, 1.3);
    }
}

void math_float(float *r) {
#pragma omp target teams distribute parallel for is_device_ptr(r)
    for (int i = 0; i < 64; i++) {
        float x = r[i];
        r[64 + i] = sqrtf(fabsf(x));
        r[128 + i] = expf(x);
        r[192 + i] = sinf(x);
        r[256 + i] = powf(fabsf(x), 1.7f);
        r[320 + i] = logf(fabsf(x) + 0.5f);
        r[384 + i] = x / 3.7f;
        r[448 + i] = (float)(int)x;
        r[512 + i] = (float)(i64)(x * 1e6f);
        r[576 + i] = (float)(double)x;
        r[640 + i] = tanhf(x);
    }
}

/* r: 32 pairs, then 16 results of each. */
void integers(i64 *r) {
#pragma omp target parallel for is_device_ptr(r)
    for (int i = 0; i < 32; i++) {
        i64 a = r[2 * i], b = r[2 * i + 1], *to = r + 64 + 16 * i;
        to[0] = a / b;
        to[1] = a % b;
        to[2] = (u64)a / (u64)b;
        to[3] = (u64)a % (u64)b;
        to[4] = (int)a / ((int)b | 1);
        to[5] = (unsigned)a % ((unsigned)b | 1);
        to[6] = (u64)a << (b & 63);
        to[7] = a >> (b & 63);
        to[8] = (u64)a >> (b & 63);
        to[9] = (i64)(((unsigned __int128)(u64)a * (u64)b) >> 64);
        to[10] = __builtin_popcountll(a);
        to[11] = __builtin_clzll(a | 1);
        to[12] = (signed char)a + (unsigned short)b;
        to[13] = __builtin_bswap64(a);
        to[14] = (i64)((__int128)a * 1000 / b);
        to[15] = a == b ? -1 : a < b;
    }
}

/* r: 4096 bytes; part i of 64 begins at 64 * i. */
void bytes(unsigned char *r) {
#pragma omp target teams distribute parallel for is_device_ptr(r)
    for (int i = 0; i < 64; i++) {
        unsigned char from[67];
        for (int j = 0; j < 67; j++)
            from[j] = 3 * j + i;
        memset(r + 64 * i, i, 64);
        memcpy(r + 64 * i + i % 7, from + i % 3, i % 58);
        memmove(r + 64 * i + 1, r + 64 * i, i % 33);
        r[64 * i + 63] = memcmp(r + 64 * i, from, 1) != 0;
    }
}

/* r[i]: a sum over an allocated array of 10 * i longs. */
void heap(i64 *r) {
#pragma omp target teams distribute parallel for is_device_ptr(r)
    for (int i = 0; i < 64; i++) {
        i64 *own = malloc(10 * i * sizeof *own), *zeros = calloc(i + 1, 8);
        i64 s = zeros[i];
        for (int j = 0; j < 10 * i; j++)
            own[j] = j ^ i;
        own = realloc(own, (10 * i + 100) * sizeof *own);
        for (int j = 0; j < 10 * i; j++)
            s += own[j];
        free(own);
        free(zeros);
        r[i] = s;
    }
}

void prints(i64 *r) {
#pragma omp target is_device_ptr(r)
    {
        printf("%d and %s, %5.2f, %lld %c%%\n", 42, "text", 3.14159, r[0], 'x');
        puts("a line");
#pragma omp parallel for
        for (int i = 0; i < 16; i++)
            printf("i=%d\n", i);
    }
}

static i64 add(i64 a, i64 b) { return a + b; }
static i64 subtract(i64 a, i64 b) { return a - b; }
static i64 multiply(i64 a, i64 b) { return a * b; }
static i64 ackermann(i64 m, i64 n) {
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
struct row {
    const char *name;
    i64 (*what)(i64, i64);
    double weight;
    char small[3];
};
struct row table[4] = {
    {"add", add, 0.5, {1, 2, 3}},
    {"subtract", subtract, 1.5, "ab"},
    {"multiply", multiply, -2, {-1}},
    {"ackermann", ackermann, 1e9, {0}},
};
int knob = 1234;
i64 counter = -5;
#pragma omp declare target to(add, subtract, multiply, ackermann, table, knob, counter)

/* r[4 * i + k]: the k-th function of 2 and i % 4; each lane another, too. */
void calls(i64 *r) {
#pragma omp target teams distribute parallel for simd is_device_ptr(r)
    for (int i = 0; i < 128; i++)
        r[i] = table[i % 4].what(2, i / 4 % 4) + strlen(table[i % 4].name);
}

/* r[0]: the knob; r[1]: what the counter was; r[2..6]: the table's; r[6]: the device. */
void globals(i64 *r) {
#pragma omp target is_device_ptr(r)
    {
        r[0] = knob;
        r[1] = counter++;
        for (int i = 0; i < 4; i++)
            r[2 + i] = table[i].weight * 10 + table[i].small[0] + table[i].small[1];
        r[6] = omp_get_device_num();
    }
}

/* r: n, two matrices, and their product. */
void matrices(double *r) {
#pragma omp target teams distribute parallel for is_device_ptr(r)
    for (int i = 0; i < (int)r[0]; i++) {
        int n = r[0];
        double *a = r + 1, *b = a + n * n, *c = b + n * n;
        for (int j = 0; j < n; j++) {
            double s = 0;
            for (int k = 0; k < n; k++)
                s += a[i * n + k] * b[k * n + j];
            c[i * n + j] = s;
        }
    }
}

int main(void) { return 0; }
