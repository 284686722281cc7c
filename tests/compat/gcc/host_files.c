/* Pointers that a host region uses and no clause names: they are the host's and keep their
   values.
   output: said to a stream */
#include <string.h>

#include "check.h"
#pragma omp requires reverse_offload

int main(void)
{
    int initial = -1, told = 0, length = 0;
    char text[64] = "";
    FILE *stream = stderr, *file = tmpfile();
    EXPECT(file != NULL, 1);
#pragma omp target map(from : initial) map(tofrom : told)
    {
        initial = omp_is_initial_device();
#pragma omp target device(ancestor : 1) map(always, tofrom : told)
        {
            told = fprintf(stream, "said to a stream\n");
            fprintf(file, "%d", told);
        }
    }
    EXPECT_ON_DEVICE(initial);
    EXPECT(told, 17);
    rewind(file);
    length = fread(text, 1, sizeof text - 1, file);
    EXPECT(length, 2);
    EXPECT(strcmp(text, "17"), 0);
    fclose(file);
    return finish();
}
