/* A descriptor without images and entries, as rustc registers it, and an image in an unknown
   format. */
#include "check.h"
#include "parts/caller.h"

void __tgt_register_lib(void *);
void __tgt_unregister_lib(void *);

int main(void)
{
    static char bytes[64] = "this is no image";
    void *nothing[4] = {0};
    void *image[4] = {bytes, bytes + sizeof bytes, NULL, NULL};
    void *descriptor[4] = {(void *)1, image, NULL, NULL};
    int x = 1;
    __tgt_register_lib(nothing);
    EXPECT(region(&x), 2);
    __tgt_register_lib(descriptor);
    EXPECT(region(&x), 3);
    __tgt_unregister_lib(descriptor);
    __tgt_unregister_lib(nothing);
    EXPECT(region(&x), 4);
    return finish();
}
