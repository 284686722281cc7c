// Text on the device: functions of the program, and the compiler's built-in functions.
#include <stdio.h>
#include <string.h>

#pragma omp begin declare target
static int length(const char *s) {
    int n = 0;
    while (s[n])
        n++;
    return n;
}
static int is_palindrome(const char *s) {
    for (int i = 0, j = length(s) - 1; i < j; i++, j--)
        if (s[i] != s[j])
            return 0;
    return 1;
}
#pragma omp end declare target

int main(void) {
    char text[6][12] = {"level", "compiler", "noon", "a", "", "abcdcbx"}, copy[6][12], upper[6][12];
    int palindromes[6], compared[6];
    #pragma omp target parallel for map(to : text) map(from : copy, upper, palindromes, compared)
    for (int i = 0; i < 6; i++) {
        palindromes[i] = is_palindrome(text[i]);
        memset(upper[i], 0, 12);
        memcpy(copy[i], text[i], length(text[i]) + 1);
        memmove(copy[i] + 1, copy[i], 8);
        copy[i][11] = 0;
        for (int j = 0; text[i][j]; j++)
            upper[i][j] = text[i][j] - 32 * (text[i][j] >= 'a' && text[i][j] <= 'z');
        compared[i] = memcmp(text[i], text[0], 6) < 0;
    }
    for (int i = 0; i < 6; i++)
        printf("%d %.1s%.3s %s %d\n", palindromes[i], copy[i], copy[i] + 1, upper[i], compared[i]);
    return 0;
}
