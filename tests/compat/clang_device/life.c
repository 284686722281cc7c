// Conway's game of life, by rows in teams and cells in threads.
#include <stdio.h>

enum { H = 16, W = 32 };

int main(void) {
    static unsigned char world[2][H][W];
    const char *glider[] = {".#.", "..#", "###"};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            world[0][i + 2][j + 2] = world[0][i + 9][j + 20] = glider[i][j] == '#';
    #pragma omp target data map(tofrom : world)
    for (int step = 0; step < 12; step++) {
        int now = step % 2;
        #pragma omp target teams distribute thread_limit(64)
        for (int i = 0; i < H; i++) {
            #pragma omp parallel for
            for (int j = 0; j < W; j++) {
                int around = 0;
                for (int di = -1; di <= 1; di++)
                    for (int dj = -1; dj <= 1; dj++)
                        around += (di || dj) && world[now][(i + di + H) % H][(j + dj + W) % W];
                world[!now][i][j] = around == 3 || (around == 2 && world[now][i][j]);
            }
        }
    }
    for (int i = 0; i < H; i++) {
        for (int j = 0; j < W; j++)
            putchar(world[0][i][j] ? '#' : '.');
        putchar('\n');
    }
    return 0;
}
