// Checks that end the program with a line that names what is wrong.
#pragma once
#include "runtime.h"
#include <stdio.h>
#include <stdlib.h>

#define EXPECT(call, code)                                                                         \
    do {                                                                                           \
        cudaError_t got = (call);                                                                  \
        if (got != (code)) {                                                                       \
            printf("line %d: %s is %s, expected %s\n", __LINE__, #call, cudaGetErrorName(got),     \
                   cudaGetErrorName(code));                                                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define OK(call) EXPECT(call, cudaSuccess)

// An error, which is the last one, too.
#define FAILS(call, code)                                                                          \
    do {                                                                                           \
        EXPECT(call, code);                                                                        \
        EXPECT(cudaPeekAtLastError(), code);                                                       \
        EXPECT(cudaGetLastError(), code);                                                          \
        EXPECT(cudaGetLastError(), cudaSuccess);                                                   \
    } while (0)

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("line %d: not so: %s\n", __LINE__, #condition);                                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
