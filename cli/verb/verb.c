#include "cli/verb/verb.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* "-" stands for standard input. */
static bool is_word(const char *argument) {
        return argument[0] != '-' || argument[1] == '\0';
}

/* Words before the first flag are put behind the flags, where options_parse() ends. */
static char **flags_first(int argc, char **argv) {
        char **sorted = xcalloc((size_t)argc + 1, sizeof(*sorted));
        int words = 0;

        while (1 + words < argc && is_word(argv[1 + words]))
                words++;
        sorted[0] = argv[0];
        for (int i = 1; i < argc; i++)
                sorted[i <= words ? argc - words + i - 1 : i - words] = argv[i];
        return sorted;
}

int verb_main(const struct verb *verb, int argc, char **argv) {
        _cleanup_(freep) char **sorted = flags_first(argc, argv);
        enum options_outcome outcome;
        struct error err = ERROR_NULL;
        int first;

        int r = options_parse(verb->rows, verb->row_count, argc, sorted, &outcome, &first, &err);
        if (r == 0 && outcome == OPTIONS_HELP) {
                (void)puts(verb->usage);
                options_help(verb->rows, verb->row_count, stdout);
        } else if (r == 0 && outcome == OPTIONS_VERSION) {
                (void)puts("kubectl-plimsoll " PLIMSOLL_VERSION);
        } else if (r == 0) {
                r = verb->run(argc - first, sorted + first, &err);
        }
        options_done(verb->rows, verb->row_count);
        if (r >= 0)
                return r;
        (void)fprintf(stderr, "kubectl plimsoll %s: %s\n", verb->name, err.msg);
        return VERB_EXIT_FAILURE;
}

int verb_no_words(int count, char **words, struct error *err) {
        return count == 0 ? 0
                          : error_set(err, EINVAL, "'%.64s': expected nothing but flags", words[0]);
}
