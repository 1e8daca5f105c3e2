#include "cli/completion.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"

static void offer(const char *before, const char *candidate, const char *typed, FILE *out) {
        if (strncmp(candidate, typed, strlen(typed)) == 0)
                (void)fprintf(out, "%s%s\n", before, candidate);
}

static void offer_choices(const struct option_row *row, const char *before, const char *typed,
                          FILE *out) {
        static const char *const truths[] = {"true", "false", NULL};
        const char *const *choices = row->type == OPTION_BOOL ? truths : row->choices;

        for (size_t i = 0; choices && choices[i]; i++)
                offer(before, choices[i], typed, out);
}

static void offer_flags(const struct verb *verb, const char *typed, FILE *out) {
        for (size_t i = 0; i < verb->row_count; i++) {
                _cleanup_(freep) char *flag = NULL;
                if (!verb->rows[i].name)
                        continue;
                flag = xasprintf("--%s", verb->rows[i].name);
                offer("", flag, typed, out);
        }
        offer("", "--help", typed, out);
}

static bool takes_file(const struct option_row *row) {
        return row->metavar && strcmp(row->metavar, "FILE") == 0;
}

/* Offer names from the cluster that the flags before the word select. Failures are ignored. */
static void offer_from_cluster(const struct verb *verb, int count, char **words, FILE *out) {
        _cleanup_(freep) char **argv = xcalloc((size_t)count + 1, sizeof(*argv));
        enum options_outcome outcome;
        struct error err = ERROR_NULL;
        int first;

        argv[0] = (char *)(uintptr_t)verb->name;
        for (int i = 1; i < count; i++)
                argv[i] = words[i - 1];
        if (options_parse(verb->rows, verb->row_count, count, argv, &outcome, &first, &err) == 0 &&
            outcome == OPTIONS_RUN)
                verb->offer(count - first, argv + first, words[count - 1], out);
        options_done(verb->rows, verb->row_count);
}

/* @words: separated by spaces */
static void offer_words(const char *words, const char *typed, FILE *out) {
        for (const char *at = words + strspn(words, " "); *at; at += strspn(at, " ")) {
                _cleanup_(freep) char *word = xmemdup0(at, strcspn(at, " "));
                offer("", word, typed, out);
                at += strlen(word);
        }
}

/* The word may follow "--output=", which bash splits into "--output" and "=". Return: may the word
 * be a file? */
static bool offer_for_verb(const struct verb *verb, int count, char **words, FILE *out) {
        const char *typed = words[count - 1];
        const char *before = count > 1 ? words[count - 2] : "", *value;
        size_t len = strcspn(typed, "=");

        if (strcmp(typed, "=") == 0 && count > 1) {
                before = words[count - 2];
                typed = "";
        } else if (strcmp(before, "=") == 0 && count > 2) {
                before = words[count - 3];
        } else if (typed[0] == '-' && typed[len] == '=') {
                const struct option_row *row = options_find_flag(verb->rows, verb->row_count, typed,
                                                                 &value);
                _cleanup_(freep) char *flag = xmemdup0(typed, len + 1);
                if (row)
                        offer_choices(row, flag, typed + len + 1, out);
                return row && takes_file(row);
        } else if (typed[0] == '-') {
                offer_flags(verb, typed, out);
                return false;
        }
        const struct option_row *row = options_find_flag(verb->rows, verb->row_count, before,
                                                         &value);
        if (row && row->type != OPTION_BOOL && !value) {
                offer_choices(row, "", typed, out);
                return takes_file(row);
        }
        if (verb->words && count == 1)
                offer_words(verb->words, typed, out);
        else if (verb->offer)
                offer_from_cluster(verb, count, words, out);
        return false;
}

void completion_offer(const struct verb *const *verbs, size_t verb_count, int count, char **words,
                      FILE *out) {
        bool are_files = false;

        for (size_t i = 0; i < verb_count; i++)
                if (count == 1)
                        offer("", verbs[i]->name, words[0], out);
                else if (strcmp(verbs[i]->name, words[0]) == 0)
                        are_files = offer_for_verb(verbs[i], count - 1, words + 1, out);
        if (count == 1) {
                offer("", "--help", words[0], out);
                offer("", "--version", words[0], out);
        }
        (void)fputs(are_files ? ":0\n" : ":4\n", out);
}

/* ---- Scripts, which run this program to complete a word. */

static const struct {
        const char *shell, *script;
} scripts[] = {
        {"bash", "_kubectl_plimsoll() {\n"
                 "    local IFS=$'\\n'\n"
                 "    COMPREPLY=($(\"${COMP_WORDS[0]}\" __complete "
                 "\"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null | grep -v '^:'))\n"
                 "}\n"
                 "complete -o default -F _kubectl_plimsoll kubectl-plimsoll\n"},
        {"zsh", "#compdef kubectl-plimsoll\n"
                "_kubectl_plimsoll() {\n"
                "    local -a candidates\n"
                "    candidates=(${(f)\"$(\"${words[1]}\" __complete "
                "\"${(@)words[2,$CURRENT]}\" 2>/dev/null | grep -v '^:')\"})\n"
                "    compadd -a candidates || _files\n"
                "}\n"
                "compdef _kubectl_plimsoll kubectl-plimsoll\n"},
        {"fish", "function __kubectl_plimsoll\n"
                 "    set -l words (commandline -opc) (commandline -ct)\n"
                 "    $words[1] __complete $words[2..-1] 2>/dev/null | string match -v ':*'\n"
                 "end\n"
                 "complete -c kubectl-plimsoll -a '(__kubectl_plimsoll)'\n"},
};

static const char *wanted_script;

static int completion_take(int count, char **words, struct error *err) {
        for (size_t i = 0; count == 1 && i < ARRAY_LEN(scripts); i++)
                if (strcmp(words[0], scripts[i].shell) == 0) {
                        wanted_script = scripts[i].script;
                        return 0;
                }
        return error_set(err, EX_USAGE, "expected one of bash, zsh, fish");
}

static int completion_run(struct cluster *cluster, struct error *err) {
        (void)cluster, (void)err;
        (void)fputs(wanted_script, stdout);
        return 0;
}

const struct verb completion_verb = {
        .name = "completion",
        .summary = "Print a completion script for bash, zsh or fish",
        .usage = "Usage: kubectl plimsoll completion bash|zsh|fish\n"
                 "\n"
                 "Print a script that completes `kubectl-plimsoll`:\n"
                 "\n"
                 "  source <(kubectl plimsoll completion bash)\n"
                 "\n"
                 "To complete `kubectl plimsoll`, kubectl itself runs kubectl_complete-plimsoll,\n"
                 "which is installed next to this program.\n",
        .words = "bash zsh fish",
        .is_local = true,
        .take_words = completion_take,
        .run = completion_run,
};
