// N-body simulation: structures in arrays, inverse roots, several steps.
#include <math.h>
#include <stdio.h>

struct body {
    double at[3], speed[3], mass;
};

int main(void) {
    enum { N = 24 };
    static struct body bodies[N];
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++) {
            bodies[i].at[k] = (i * (k + 3) * 7 % 23) - 11;
            bodies[i].mass = 1 + i % 3;
        }
    #pragma omp target data map(tofrom : bodies)
    for (int step = 0; step < 5; step++) {
        #pragma omp target teams distribute parallel for
        for (int i = 0; i < N; i++) {
            double pull[3] = {0, 0, 0};
            for (int j = 0; j < N; j++) {
                double d[3], square = .5;
                for (int k = 0; k < 3; k++) {
                    d[k] = bodies[j].at[k] - bodies[i].at[k];
                    square += d[k] * d[k];
                }
                double factor = bodies[j].mass / (square * sqrt(square));
                for (int k = 0; k < 3; k++)
                    pull[k] += d[k] * factor;
            }
            for (int k = 0; k < 3; k++)
                bodies[i].speed[k] += .01 * pull[k];
        }
        #pragma omp target teams distribute parallel for
        for (int i = 0; i < N; i++)
            for (int k = 0; k < 3; k++)
                bodies[i].at[k] += .01 * bodies[i].speed[k];
    }
    double energy = 0;
    #pragma omp target teams distribute parallel for reduction(+ : energy) map(to : bodies)
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++)
            energy += bodies[i].mass * bodies[i].speed[k] * bodies[i].speed[k] / 2;
    printf("%.9f %.9f %.9f\n", energy, bodies[3].at[1], bodies[20].speed[2]);
    return 0;
}
