/* A library with an image of its own. */
#pragma omp begin declare target
int first_calls = 100;
#pragma omp end declare target

int first_library(int x)
{
    int y = -1;
#pragma omp target map(from : y)
    {
        first_calls++;
        y = x * 10 + first_calls;
    }
    return y;
}
