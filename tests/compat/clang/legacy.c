/* The functions that clang before 15 calls, and programs written against them: their kernels
   get only their arguments.
   image: parts/old_kernel.c */
#include "check.h"
#include "parts/caller.h"

struct image {
    void *begin, *end;
    struct entry *entries, *entries_end;
};

struct descriptor {
    int32_t count;
    struct image *images;
    struct entry *entries, *entries_end;
};

#define DATA int64_t device, int32_t count, void **bases, void **begins, int64_t *sizes, int64_t *types
#define MAPS int32_t count, void **bases, void **begins, int64_t *sizes, int64_t *types
#define NAMES void **names, void **mappers
#define AFTER int32_t depends, void *list, int32_t more, void *more_list
#define AT struct ident *at, int64_t device, void *host
#define HOST int64_t device, void *host

void __tgt_register_lib(struct descriptor *);
void __tgt_unregister_lib(struct descriptor *);
void __tgt_target_data_begin(DATA);
void __tgt_target_data_begin_nowait(DATA, AFTER);
void __tgt_target_data_end(DATA);
void __tgt_target_data_end_nowait(DATA, AFTER);
void __tgt_target_data_update(DATA);
void __tgt_target_data_update_nowait(DATA, AFTER);
int __tgt_target(HOST, MAPS);
int __tgt_target_nowait(HOST, MAPS, AFTER);
int __tgt_target_mapper(AT, MAPS, NAMES);
int __tgt_target_nowait_mapper(AT, MAPS, NAMES, AFTER);
int __tgt_target_teams(HOST, MAPS, int32_t teams, int32_t threads);
int __tgt_target_teams_nowait(HOST, MAPS, int32_t teams, int32_t threads, AFTER);
int __tgt_target_teams_mapper(AT, MAPS, NAMES, int32_t teams, int32_t threads);
int __tgt_target_teams_nowait_mapper(AT, MAPS, NAMES, int32_t teams, int32_t threads, AFTER);
void __kmpc_push_target_tripcount(int64_t device, uint64_t trips);
void __kmpc_push_target_tripcount_mapper(struct ident *at, int64_t device, uint64_t trips);

static char bytes[1 << 20] __attribute__((aligned(64)));
static int x;

/* Each in its own data region; only the end of that region copies back. */
#define ARGS 1, begin, begin, size
#define NONE 0, NULL, 0, NULL
#define UNNAMED NULL, NULL
#define RUNS(wanted, call)                                                                          \
    do {                                                                                            \
        EXPECT(call, 0);                                                                            \
        EXPECT(x, wanted);                                                                          \
    } while (0)

int main(void)
{
    static char key;
    struct entry entry = {.version = 1, .kind = 1, .address = &key, .name = "old_kernel"};
    FILE *file = fopen("old_kernel.so", "rb");
    size_t got = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    EXPECT(got > 0 && got < sizeof bytes, 1);
    struct image image = {bytes, bytes + got, &entry, &entry + 1};
    struct descriptor descriptor = {1, &image, &entry, &entry + 1};
    void *begin[] = {&x};
    int64_t size[] = {sizeof x}, to[] = {1}, from[] = {2}, param[] = {0x23};
    region(&x);
    x = 0;
    __tgt_register_lib(&descriptor);
    __kmpc_push_target_tripcount(-1, 8);
    __kmpc_push_target_tripcount_mapper(NULL, -1, 8);
    RUNS(10, __tgt_target(-1, &key, ARGS, param));
    RUNS(20, __tgt_target_nowait(-1, &key, ARGS, param, NONE));
    RUNS(30, __tgt_target_mapper(NULL, -1, &key, ARGS, param, UNNAMED));
    RUNS(40, __tgt_target_nowait_mapper(NULL, -1, &key, ARGS, param, UNNAMED, NONE));
    RUNS(50, __tgt_target_teams(-1, &key, ARGS, param, 1, 1));
    RUNS(60, __tgt_target_teams_nowait(-1, &key, ARGS, param, 1, 1, NONE));
    RUNS(70, __tgt_target_teams_mapper(NULL, -1, &key, ARGS, param, UNNAMED, 1, 1));
    RUNS(80, __tgt_target_teams_nowait_mapper(NULL, -1, &key, ARGS, param, UNNAMED, 1, 1, NONE));
    __tgt_target_data_begin(-1, ARGS, to);
    RUNS(80, __tgt_target(-1, &key, ARGS, param));
    __tgt_target_data_update(-1, ARGS, from);
    EXPECT(x, 90);
    x = 0;
    __tgt_target_data_update_nowait(-1, ARGS, to, NONE);
    RUNS(0, __tgt_target(-1, &key, ARGS, param));
    __tgt_target_data_end(-1, ARGS, from);
    EXPECT(x, 10);
    __tgt_target_data_begin_nowait(-1, ARGS, to, NONE);
    RUNS(10, __tgt_target(-1, &key, ARGS, param));
    __tgt_target_data_end_nowait(-1, ARGS, from, NONE);
    EXPECT(x, 20);
    __tgt_unregister_lib(&descriptor);
    return finish();
}
