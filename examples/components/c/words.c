// A WASI command in C: counts the words of its argument, and sorts them. `words "a rose is a rose"`.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct word {
    char *text;
    int count;
};

static int compare(const void *a, const void *b) {
    return strcmp(((const struct word *)a)->text, ((const struct word *)b)->text);
}

__attribute__((noinline)) static size_t count(char *text, struct word **words) {
    size_t found = 0;
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        size_t at = 0;
        while (at < found && strcmp((*words)[at].text, word)) at++;
        if (at == found) {
            *words = realloc(*words, ++found * sizeof **words);
            (*words)[at] = (struct word){word, 0};
        }
        (*words)[at].count++;
    }
    return found;
}

int main(int argc, char **argv) {
    struct word *words = NULL;
    char *text = strdup(argc > 1 ? argv[1] : "");
    size_t found = count(text, &words);
    qsort(words, found, sizeof *words, compare);
    for (size_t n = 0; n < found; n++) printf("%d %s\n", words[n].count, words[n].text);
    free(words);
    free(text);
    return argc > 2 ? atoi(argv[2]) : 0;
}
