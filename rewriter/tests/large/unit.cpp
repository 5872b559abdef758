// A unit of many instances of what the standard library has: `-DUNIT=N` tells it from the others.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

template <int N>
struct Key {
    int number;
    std::string text;
    std::vector<long> parts;
    bool operator<(const Key &other) const { return number < other.number || (number == other.number && text < other.text); }
};

template <int N>
int use(int seed) {
    std::map<Key<N>, std::vector<Key<N>>> tree;
    std::unordered_map<std::string, std::shared_ptr<Key<N>>> table;
    std::vector<Key<N>> keys;
    for (int i = 0; i < 3; i++) {
        keys.push_back({seed * i % 7, std::to_string(seed + i), {seed, i}});
        tree[keys.back()].push_back(keys.front());
        table[keys.back().text] = std::make_shared<Key<N>>(keys.back());
    }
    std::sort(keys.begin(), keys.end());
    std::function<int(const Key<N> &)> weigh = [&](const Key<N> &key) { return key.number + (int)table.count(key.text); };
    int sum = 0;
    for (const auto &key : keys) sum += weigh(key);
    for (const auto &[key, list] : tree) sum += weigh(key) + (int)list.size();
    return sum;
}

template <int... N>
static int all(int seed, std::integer_sequence<int, N...>) {
    return (use<UNIT * 1000 + N>(seed) + ... + 0);
}

#define NAME2(n) unit##n
#define NAME(n) NAME2(n)
extern "C" int NAME(UNIT)(int seed) { return all(seed, std::make_integer_sequence<int, 30>()); }
