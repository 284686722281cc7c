/* Functions inside functions, which reach the variables of those around them by a pointer that
   GCC passes in a register. */
#include "check.h"

#pragma omp declare target
static int use(int n)
{
    int base = n * 3, sum = 0;

    __attribute__((noinline)) int inner(int k)
    {
        base += k;
        return base * 2;
    }
    __attribute__((noinline)) int outer(int k)
    {
        __attribute__((noinline)) int innermost(int j)
        {
            return inner(j) + base;
        }
        return innermost(k) + innermost(k + 1);
    }

    for (int i = 0; i < 5; i++)
        sum += inner(i) + outer(i);
    return sum + base;
}
#pragma omp end declare target

int main(void)
{
    int one[10], many[64];

#pragma omp target map(from : one)
    for (int i = 0; i < 10; i++)
        one[i] = use(i);
#pragma omp target teams distribute parallel for map(from : many)
    for (int i = 0; i < 64; i++)
        many[i] = use(i);
    for (int i = 0; i < 10; i++)
        EXPECT(one[i], use(i));
    for (int i = 0; i < 64; i++)
        EXPECT(many[i], use(i));
    return finish();
}
