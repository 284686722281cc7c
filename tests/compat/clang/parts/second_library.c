/* Another library with an image of its own. */
static int helper(int x)
{
    return x - 1;
}

int second_library(int x)
{
    int y = -1;
#pragma omp target map(from : y)
    y = helper(x) * 1000;
    return y;
}
