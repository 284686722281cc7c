/* An image that is registered and unregistered by hand, of a compiler whose kernels get only
   their arguments. Such arguments have version 2.
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

void __tgt_register_lib(struct descriptor *);
void __tgt_unregister_lib(struct descriptor *);

static char bytes[1 << 20] __attribute__((aligned(64)));

int main(void)
{
    static char key;
    struct entry entry = {.version = 1, .kind = 1, .address = &key, .name = "old_kernel"};
    FILE *file = fopen("old_kernel.so", "rb");
    size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    EXPECT(size > 0 && size < sizeof bytes, 1);
    struct image image = {bytes, bytes + size, &entry, &entry + 1};
    struct descriptor descriptor = {1, &image, &entry, &entry + 1};
    int x = 1;
    EXPECT(region(&x), 2);
    __tgt_register_lib(&descriptor);
    EXPECT(call(2, &key, &x), 0);
    EXPECT(x, 12);
    EXPECT(call(3, NULL, &x), 0);
    EXPECT(x, 13);
    __tgt_unregister_lib(&descriptor);
    EXPECT(region(&x), 14);
    return finish();
}
