// Inline parts of C++'s library: arrays, pairs, tuples, optionals, algorithms, limits.
#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

int main() {
    std::array<int, 64> out{};
    #pragma omp target teams distribute parallel for map(from : out)
    for (int i = 0; i < 64; i++) {
        std::array<int, 8> a{};
        std::iota(a.begin(), a.end(), i);
        std::reverse(a.begin(), a.begin() + 5);
        std::swap(a[0], a[7]);
        auto [low, high] = std::pair(std::min(a[0], a[1]), std::max(a[2], a[3]));
        std::tuple<int, long, char> t{low, high, char(i)};
        std::optional<int> maybe;
        if (i % 2)
            maybe = std::get<0>(t) + int(std::get<1>(t));
        int sum = std::accumulate(a.begin(), a.end(), 0, [](int x, int y) { return x * 3 % 1009 + y; });
        int found = int(std::find(a.begin(), a.end(), i + 2) - a.begin());
        out[i] = sum * 100 + maybe.value_or(-1) + found * 7 + std::clamp(i, 10, 20) +
                 (std::numeric_limits<short>::max() & i);
    }
    long hash = 0;
    for (int x : out)
        hash = (hash * 31 + x) % 1000000007;
    std::printf("%ld %d %d\n", hash, out[0], out[63]);
    return 0;
}
