/*
 * Replays a corpus: every file of the directory given goes through the fuzz target once. An
 * empty or missing corpus is a failure, so that this test cannot pass by finding nothing to do.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "fuzz.h"

enum { INPUT_MAX = 32 << 20 };

static int replay_file(const char *path) {
        FILE *file = fopen(path, "re");
        if (!file)
                return -1;
        uint8_t *data = xmalloc(INPUT_MAX);
        size_t size = fread(data, 1, INPUT_MAX, file);
        (void)fclose(file);
        /* An exact-sized copy, so that a read past the end meets the sanitizer's red zone. */
        data = xrealloc(data, size);
        (void)LLVMFuzzerTestOneInput(data, size);
        free(data);
        return 0;
}

int main(int argc, char **argv) {
        size_t replayed = 0;

        if (argc != 2) {
                (void)fprintf(stderr, "usage: %s CORPUS_DIRECTORY\n", argv[0]);
                return 2;
        }
        DIR *directory = opendir(argv[1]);
        if (!directory) {
                perror(argv[1]);
                return 1;
        }
        for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
                if (entry->d_name[0] == '.')
                        continue;
                _cleanup_(freep) char *path = xasprintf("%s/%s", argv[1], entry->d_name);
                if (replay_file(path) < 0) {
                        perror(path);
                        return 1;
                }
                replayed++;
        }
        (void)closedir(directory);
        (void)printf("replayed %zu inputs\n", replayed);
        return replayed > 0 ? 0 : 1;
}
