/* Calls __tgt_target_kernel by hand, as a compiler would. */
#ifndef CALLER_H
#define CALLER_H

#include "check.h"
#include <stdint.h>

struct ident {
    int32_t reserved, flags, more, length;
    const char *source;
};

struct arguments {
    uint32_t version, count;
    void **bases, **begins;
    int64_t *sizes, *types;
    void **names, **mappers;
    uint64_t trips, flags;
    uint32_t teams[3], threads[3], shared;
};

struct entry {
    uint64_t reserved;
    uint16_t version, kind;
    uint32_t flags;
    void *address;
    char *name;
    uint64_t size, data;
    void *auxiliary;
};

int __tgt_target_kernel(struct ident *, int64_t, int32_t, int32_t, void *, struct arguments *);
extern struct entry __start_llvm_offload_entries[], __stop_llvm_offload_entries[];

/* The only region of a program that includes this. */
static int region(int *p)
{
#pragma omp target map(tofrom : p[0 : 1])
    p[0]++;
    return p[0];
}

/* Runs the region with arguments of VERSION, under the key KEY or its own; 1 is added to *X. */
static int call(uint32_t version, void *key, int *x)
{
    struct ident ident = {0, 2, 0, 22, ";unknown;unknown;0;0;;"};
    void *begin[] = {x};
    int64_t size[] = {sizeof *x}, type[] = {0x23};
    struct arguments arguments = {.version = version, .count = 1, .bases = begin, .begins = begin,
                                  .sizes = size, .types = type, .teams = {1, 1, 1}, .threads = {1, 1, 1}};
    struct entry *e;
    for (e = __start_llvm_offload_entries; key == NULL && e < __stop_llvm_offload_entries; e++)
        if (e->size == 0)
            key = e->address;
    return __tgt_target_kernel(&ident, -1, -1, 0, key, &arguments);
}

#endif
