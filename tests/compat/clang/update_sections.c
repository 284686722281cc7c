/* Updates of sections that do not begin at 0: with strides, of members, of several dimensions.
   LLVM's library counts an offset in strides, ignores a member's offset, and reads words of the
   stack after the descriptor as counts, so that it may copy for minutes.
   stock: any
   report: free */
#include "check.h"

enum { ROWS = 6, COLUMNS = 8 };

static char t[30];
static int a[30], b[ROWS][COLUMNS], c[3][ROWS][COLUMNS];
static struct {
    int before, m[ROWS][COLUMNS];
} s;

/* Whether INDEX is one of COUNT indices from FIRST with this STRIDE. */
static int in(int index, int first, int count, int stride)
{
    int n = (index - first) / stride;
    return index >= first && (index - first) % stride == 0 && n < count;
}

#define ALL(element, cells)                                                                         \
    for (int i = 0; i < (cells); i++)                                                               \
        (&element)[i]
#define SENT(element, cells, is_in)                                                                 \
    for (int i = 0; i < (cells); i++) {                                                             \
        int row = i / COLUMNS % ROWS, column = i % COLUMNS, plane = i / COLUMNS / ROWS;             \
        (void)row, (void)column, (void)plane;                                                       \
        EXPECT((&element)[i], (is_in) ? 1 : 0);                                                     \
    }

#define PRAGMA(text) _Pragma(#text)

/* Updates to the device, whose data is zero, and copies all of it back. */
#define TO(variable, element, cells, section, is_in)                                                \
    do {                                                                                            \
        ALL(element, cells) = 0;                                                                    \
        PRAGMA(omp target enter data map(to : variable)) ALL(element, cells) = 1;                   \
        PRAGMA(omp target update to(section))                                                       \
        PRAGMA(omp target exit data map(from : variable)) SENT(element, cells, is_in)               \
    } while (0)

int main(int count, char **names)
{
    (void)names;
    int n = count + 3, *p = a;
    TO(a, a[0], 30, a [1:3:2], in(i, 1, 3, 2));
    TO(a, a[0], 30, a [7:n:5], in(i, 7, 4, 5));
    TO(a, a[0], 30, p [3:4:3], in(i, 3, 4, 3));
    for (int length = 0; length <= n - 2; length++) {
        TO(a, a[0], 30, a [3:length:2], in(i, 3, length, 2));
        TO(t, t[0], 30, t [3:length:2], in(i, 3, length, 2));
        TO(b, b[0][0], 48, b [0:n] [0:length:2], in(row, 0, n, 1) && in(column, 0, length, 2));
        TO(b, b[0][0], 48, b [0:length] [0:1:2], in(row, 0, length, 1) && column == 0);
    }
    TO(b, b[0][0], 48, b [1:2] [2:3], in(row, 1, 2, 1) && in(column, 2, 3, 1));
    TO(b, b[0][0], 48, b [1:4] [1:3:2], in(row, 1, 4, 1) && in(column, 1, 3, 2));
    TO(b, b[0][0], 48, b [0:3:2] [4:2:2], in(row, 0, 3, 2) && in(column, 4, 2, 2));
    TO(c, c[0][0][0], 144, c [1:2] [3:2] [5:2], plane >= 1 && in(row, 3, 2, 1) && in(column, 5, 2, 1));
    TO(s, s.m[0][0], 48, s.m [1:2] [2:3], in(row, 1, 2, 1) && in(column, 2, 3, 1));
    TO(s, s.m[0][0], 48, s.m [1:2:2] [1:2:3], in(row, 1, 2, 2) && in(column, 1, 2, 3));
    TO(s, s.m[0][0], 48, s.m[3] [1:3:2], row == 3 && in(column, 1, 3, 2));
#pragma omp target enter data map(to : a)
    for (int i = 0; i < 30; i++)
        a[i] = 5;
#pragma omp target
    for (int i = 0; i < 30; i++)
        a[i] = 9;
#pragma omp target update from(a [2:3:4])
    for (int i = 0; i < 30; i++)
        EXPECT(a[i], in(i, 2, 3, 4) ? 9 : 5);
#pragma omp target exit data map(delete : a)
    return finish();
}
