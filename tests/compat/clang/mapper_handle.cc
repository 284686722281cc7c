// A program that creates a mapper handle itself, which is a std::vector, and calls the runtime
// to push to it.
#include "check.h"
#include <cstdint>
#include <vector>

struct Component {
    void *base, *begin;
    int64_t size, map;
    void *name;
};

extern "C" int64_t __tgt_mapper_num_components(void *handle);
extern "C" void __tgt_push_mapper_component(void *handle, void *base, void *begin, int64_t size, int64_t map,
                                            void *name);

int main()
{
    std::vector<Component> handle;
    static char bytes[100];
    EXPECT(__tgt_mapper_num_components(&handle), 0);
    for (int i = 0; i < 100; i++) {
        __tgt_push_mapper_component(&handle, bytes, bytes + i, i, 2 * i, nullptr);
        EXPECT(__tgt_mapper_num_components(&handle), i + 1);
    }
    for (int i = 0; i < 100; i++) {
        EXPECT(handle.data()[i].begin == bytes + i, 1);
        EXPECT(handle.data()[i].size, i);
        EXPECT(handle.data()[i].map, 2 * i);
    }
    // A call that makes the linker keep the library.
    int ran = 0;
#pragma omp target map(tofrom : ran)
    ran++;
    EXPECT(ran, 1);
    return finish();
}
