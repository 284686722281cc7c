/* A function that maps its data and calls itself within. */
#include "check.h"

static int walk(int depth, int *path)
{
    int here = depth, below = 0;
    if (depth == 12)
        return 1;
#pragma omp target data map(tofrom : here, path[0 : 16])
    {
        below = walk(depth + 1, path);
#pragma omp target map(always, tofrom : here)
        {
            here += 100;
            path[depth] += here;
        }
    }
    return below + (here == depth + 100);
}

int main(void)
{
    int path[16] = {0};
    EXPECT(walk(0, path), 13);
    for (int i = 0; i < 16; i++)
        EXPECT(path[i], i < 12 ? 100 + i : 0);
    return finish();
}
