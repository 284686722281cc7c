/* Variables of which host and device each have their own instance. */
#include "check.h"
#pragma omp requires reverse_offload

#pragma omp declare target
static int number = 5;
static double table[4] = {1, 2, 3, 4};
int others;
#pragma omp end declare target

static void look(void)
{
    /* The host's instance. */
    if (on_device()) {
        EXPECT(number, 5);
        EXPECT_REAL(table[2], 3);
    }
    number = 6;
    table[2] = 33;
}

int main(void)
{
    int initial = -1, device_number = 0, after = 0;
    double device_table = 0, table_after = 0;
#pragma omp target map(from : initial, device_number, device_table, after, table_after)
    {
        initial = omp_is_initial_device();
        number = 50;
        table[2] = 300;
        others = 8;
#pragma omp target device(ancestor : 1)
        look();
        device_number = number;
        device_table = table[2];
        /* The host region gets the device's values, and the device gets the result. Whether the
           host region used the host's instance is not checked, because GCC 14 to 16 find only
           variables that the program has mapped. */
#pragma omp target device(ancestor : 1) map(always, tofrom : number, table)
        {
            EXPECT(number, on_device() ? 50 : 6);
            EXPECT_REAL(table[2], on_device() ? 300 : 33);
            number = 77;
            table[2] = 770;
        }
        after = number;
        table_after = table[2];
    }
    EXPECT_ON_DEVICE(initial);
    if (on_device()) {
        EXPECT(device_number, 50);
        EXPECT_REAL(device_table, 300);
        EXPECT(others, 0);
    }
    EXPECT(after, 77);
    EXPECT_REAL(table_after, 770);
#pragma omp target update from(others)
    EXPECT(others, 8);
    return finish();
}
