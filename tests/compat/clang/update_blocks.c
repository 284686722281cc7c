/* Updates of blocks of tables and cubes. LLVM 22 copies only one element of each row.
   stock: exit 1 */
#include "check.h"

int main(void)
{
    int t[8][9], c[4][5][6];
    for (int i = 0; i < 72; i++)
        t[i / 9][i % 9] = i;
    for (int i = 0; i < 120; i++)
        c[i / 30][i / 6 % 5][i % 6] = i;
#pragma omp target data map(to : t, c)
    {
#pragma omp target
        {
            for (int i = 0; i < 72; i++)
                t[i / 9][i % 9] += 1000;
            for (int i = 0; i < 120; i++)
                c[i / 30][i / 6 % 5][i % 6] += 1000;
        }
#pragma omp target update from(t[2 : 3][4 : 2])
#pragma omp target update from(c[1 : 2][1 : 2][1 : 3])
        for (int i = 0; i < 72; i++) {
            int r = i / 9, k = i % 9;
            EXPECT(t[r][k], r >= 2 && r < 5 && k >= 4 && k < 6 ? i + 1000 : i);
        }
        for (int i = 0; i < 120; i++) {
            int x = i / 30, y = i / 6 % 5, z = i % 6;
            int in = x >= 1 && x < 3 && y >= 1 && y < 3 && z >= 1 && z < 4;
            EXPECT(c[x][y][z], in ? i + 1000 : i);
        }
    }
    return finish();
}
