// Exceptions on the host, around regions and out of data regions' surroundings.
#include "check.h"
#include <stdexcept>
#include <string>

static int region(int x)
{
    int y = 0;
#pragma omp target map(from : y)
    y = x * 2;
    if (y > 10)
        throw std::runtime_error("too much: " + std::to_string(y));
    return y;
}

int main()
{
    int caught = 0;
    for (int i = 0; i < 10; i++) {
        try {
            EXPECT(region(i), 2 * i);
        } catch (const std::runtime_error &error) {
            EXPECT(error.what() == "too much: " + std::to_string(2 * i), 1);
            caught++;
        }
    }
    EXPECT(caught, 4);
    return finish();
}
