/* The option table: sources and their order, values, errors, help and dump. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "program/options.h"
#include "tests/unit/fixture/rows.h"

static struct {
        bool dry_run, leader_elect;
        int64_t workers, interval_ms;
        double ratio;
        const char *path;
        struct option_list targets;
        int format;
} values;

static const char *const formats[] = {"logfmt", "json", NULL};

static const struct option_row rows[] = {
        {.help = "What is read"},
        {.name = "policy-config-path",
         .type = OPTION_STRING,
         .value = &values.path,
         .metavar = "FILE",
         .help = "Take the policy from FILE instead of the cluster's DynamicSchedulerPolicy "
                 "object, and read it again when it changes."},
        {.name = "scrape-interval",
         .type = OPTION_DURATION_MS,
         .value = &values.interval_ms,
         .fallback = "15s",
         .min = 1000,
         .max = 300000,
         .help = "Time between two scrapes of one node."},
        {.name = "target",
         .type = OPTION_LIST,
         .value = &values.targets,
         .fallback = "one two",
         .metavar = "NAME=URL",
         .help = "A node and its exporter."},
        {.help = "What is written"},
        {.name = "dry-run",
         .letter = 'd',
         .type = OPTION_BOOL,
         .value = &values.dry_run,
         .help = "Print only."},
        {.name = "leader-elect",
         .type = OPTION_BOOL,
         .value = &values.leader_elect,
         .fallback = "true",
         .help = "Write only while holding the lease."},
        {.name = "workers",
         .type = OPTION_INT,
         .value = &values.workers,
         .fallback = "4",
         .min = 1,
         .max = 1e300,
         .help = "Threads."},
        {.name = "ratio",
         .type = OPTION_NUMBER,
         .value = &values.ratio,
         .fallback = "0.5",
         .max = 1,
         .help = "A share."},
        {.name = "log-format",
         .letter = 'l',
         .type = OPTION_ENUM,
         .value = &values.format,
         .fallback = "logfmt",
         .choices = formats,
         .help = "How lines look."},
};

enum { MAX_ARGS = 10 };

static int parse(const char *const *args, enum options_outcome *ret_outcome, int *ret_args,
                 struct error *err) {
        static char program[] = "program";
        char *argv[MAX_ARGS + 2] = {program};
        int argc = 1;

        /* options_parse() takes main's argv, which is not const; it writes to none of it. */
        for (; args[argc - 1]; argc++)
                argv[argc] = (char *)(uintptr_t)args[argc - 1];
        return options_parse(rows, ARRAY_LEN(rows), argc, argv, ret_outcome, ret_args, err);
}

#define ARGS(...) ((const char *const[MAX_ARGS]){__VA_ARGS__})

static void must_parse(const char *const *args, int expect_args) {
        enum options_outcome outcome = OPTIONS_HELP;
        struct error err = ERROR_NULL;
        int rest = -1;

        options_done(rows, ARRAY_LEN(rows)); /* what the call before has left */
        memset(&values, 0, sizeof(values));
        if (parse(args, &outcome, &rest, &err) < 0)
                fail_msg("%s", err.msg);
        assert_int_equal(outcome, OPTIONS_RUN);
        assert_int_equal(rest, expect_args);
}

/* Also those that the test's own environment has. */
static int clear(void **state) {
        static const char prefix[] = "PLIMSOLL_";

        for (size_t i = 0; environ[i];) {
                _cleanup_(freep) char *name = xasprintf("%s", environ[i]);
                name[strcspn(name, "=")] = '\0';
                if (strncmp(name, prefix, strlen(prefix)) == 0)
                        assert_int_equal(unsetenv(name), 0);
                else
                        i++;
        }
        memset(&values, 0, sizeof(values));
        return 0;
}

static int done(void **state) {
        options_done(rows, ARRAY_LEN(rows));
        assert_null(values.targets.items);
        return 0;
}

TEST_BETWEEN(errors, clear, done) {
        for (struct rows table = rows_open("flags.tsv"); rows_next(&table);) {
                const char *args[MAX_ARGS] = {NULL};
                for (size_t i = 1; i < table.cell_count; i++)
                        args[i - 1] = rows_unescape(table.cells[i]);
                enum options_outcome outcome = OPTIONS_VERSION;
                struct error err = ERROR_NULL;
                int rest = -7;
                assert_int_equal(parse(args, &outcome, &rest, &err), -EINVAL);
                if (strcmp(err.msg, table.cells[0]) != 0)
                        fail_msg("%s: %s", table.place, err.msg);
                assert_int_equal(outcome, OPTIONS_VERSION);
                assert_int_equal(rest, -7);
                assert_null(values.targets.items); /* released */
        }
}

TEST_BETWEEN(environment_error, clear, done) {
        enum options_outcome outcome = OPTIONS_RUN;
        struct error err = ERROR_NULL;
        int rest = 0;

        assert_int_equal(setenv("PLIMSOLL_WORKERS", "many", 1), 0);
        assert_int_equal(parse(ARGS(NULL), &outcome, &rest, &err), -EINVAL);
        assert_string_equal(err.msg, "PLIMSOLL_WORKERS: 'many': expected an integer");
        must_parse(ARGS("--workers=3"), 2); /* a flag makes it irrelevant */
        options_done(rows, ARRAY_LEN(rows));

        assert_int_equal(parse(ARGS("--help"), &outcome, &rest, &err), 0);
        assert_int_equal(outcome, OPTIONS_HELP);
        assert_int_equal(parse(ARGS("-h", "--nonsense"), &outcome, &rest, &err), 0);
        assert_int_equal(outcome, OPTIONS_HELP);
        assert_int_equal(parse(ARGS("--version"), &outcome, &rest, &err), 0);
        assert_int_equal(outcome, OPTIONS_VERSION);
        assert_int_equal(parse(ARGS("--", "--help"), &outcome, &rest, &err), -EINVAL);
}

static char *capture(void (*print)(const struct option_row *, size_t, FILE *)) {
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);

        assert_non_null(out);
        print(rows, ARRAY_LEN(rows), out);
        assert_int_equal(fclose(out), 0);
        return text;
}

/* Of a program that runs elsewhere, with flags that this table does not have. */
TEST_BETWEEN(help, clear, done) {
        static const char expected[] =
                "What is read:\n"
                "  --policy-config-path=FILE  Take the policy from FILE instead of the cluster's\n"
                "      DynamicSchedulerPolicy object, and read it again when it changes.\n"
                "  --scrape-interval=DURATION  Time between two scrapes of one node. (default\n"
                "      15s)\n"
                "  --target=NAME=URL  A node and its exporter. May be repeated. (default one two)\n"
                "\n"
                "What is written:\n"
                "  -d, --dry-run  Print only. (default false)\n"
                "  --leader-elect  Write only while holding the lease. (default true)\n"
                "  --workers=N  Threads. (default 4)\n"
                "  --ratio=X  A share. (default 0.5)\n"
                "  -l, --log-format=logfmt|json  How lines look. (default logfmt)\n"
                "\n"
                "  -h, --help  Print this text and exit.\n"
                "  --version  Print the version and exit.\n";
        _cleanup_(freep) char *text = capture(options_help);

        assert_string_equal(text, expected);
        for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
                assert_true(strcspn(line, "\n") <= 80);
}

/* A variable of another name, none at all, and what is listed elsewhere. */
TEST(variables) {
        static const char *other, *bare, *plain, *elsewhere;
        static bool quiet;
        static const struct option_row few[] = {
                {.name = "other",
                 .type = OPTION_STRING,
                 .value = &other,
                 .fallback = "x",
                 .variable = "PLIMSOLL_ONE",
                 .help = "One."},
                {.name = "bare",
                 .type = OPTION_STRING,
                 .value = &bare,
                 .variable = "",
                 .help = "Two."},
                {.name = "plain",
                 .type = OPTION_STRING,
                 .value = &plain,
                 .fallback = "y",
                 .variable = "",
                 .help = "Three."},
                {.type = OPTION_BOOL},
                {.name = "quiet", .type = OPTION_BOOL, .value = &quiet, .help = "Four."},
                {.name = "elsewhere", .type = OPTION_STRING, .value = &elsewhere, .help = "Five."},
        };
        static const char expected[] = "  --other=TEXT  One. (default x) ($PLIMSOLL_ONE)\n"
                                       "  --bare=TEXT  Two.\n"
                                       "  --plain=TEXT  Three. (default y)\n"
                                       "\n"
                                       "  -h, --help  Print this text and exit.\n"
                                       "  --version  Print the version and exit.\n";
        char program[] = "program", flag[] = "--elsewhere=here", *argv[] = {program, flag, NULL};
        enum options_outcome outcome;
        struct error err = ERROR_NULL;
        char *text = NULL;
        size_t len = 0;
        int first;

        FILE *out = open_memstream(&text, &len);
        assert_non_null(out);
        options_help(few, ARRAY_LEN(few), out);
        assert_int_equal(fclose(out), 0);
        assert_string_equal(text, expected);
        free(text);
        assert_int_equal(setenv("PLIMSOLL_ONE", "1", 1), 0);
        assert_int_equal(setenv("PLIMSOLL_OTHER", "2", 1), 0);
        assert_int_equal(setenv("PLIMSOLL_BARE", "3", 1), 0);
        assert_int_equal(options_parse(few, ARRAY_LEN(few), 2, argv, &outcome, &first, &err), 0);
        assert_string_equal(other, "1");
        assert_null(bare);
        assert_string_equal(elsewhere, "here");
        const char *value = NULL;
        assert_non_null(options_find_flag(few, ARRAY_LEN(few), "--bare=x", &value));
        assert_string_equal(value, "x");
        assert_non_null(options_find_flag(few, ARRAY_LEN(few), "--bare", &value));
        assert_null(value);
        static const char *const none[] = {"--none", "bare", "-", ""};
        for (size_t i = 0; i < ARRAY_LEN(none); i++)
                assert_null(options_find_flag(few, ARRAY_LEN(few), none[i], &value));
}

/* An error is about the variable, if that has set the value. */
TEST_BETWEEN(wrap, clear, done) {
        struct error err = ERROR_NULL;

        assert_int_equal(setenv("PLIMSOLL_WORKERS", "9", 1), 0);
        must_parse(ARGS("--ratio=1"), 2);
        (void)error_set(&err, EINVAL, "too many");
        assert_int_equal(options_wrap(&err, -EINVAL, &values.workers), -EINVAL);
        assert_string_equal(err.msg, "PLIMSOLL_WORKERS: too many");
        (void)error_set(&err, EINVAL, "too much");
        assert_int_equal(options_wrap(&err, -ENOENT, &values.ratio), -ENOENT);
        assert_string_equal(err.msg, "--ratio: too much");
        (void)error_set(&err, EINVAL, "too short");
        assert_int_equal(options_wrap(&err, EINVAL, &values.interval_ms), -EINVAL);
        assert_string_equal(err.msg, "--scrape-interval: too short");
}

static void show_variable(const char *text, size_t len, struct buf *out) {
        static const char *other;
        static const struct option_row few[] = {
                {.name = "other", .value = &other, .variable = "PLIMSOLL_ONE"},
                {.name = "secret", .value = &other, .variable = ""},
                {.name = "foreign", .value = &other, .variable = "FOREIGN"},
        };
        static const struct option_table tables[] = {{rows, ARRAY_LEN(rows)},
                                                     {few, ARRAY_LEN(few)}};
        size_t at = 0;

        /* Of a Service plimsoll-extender. */
        assert_int_equal(setenv("PLIMSOLL_EXTENDER_SERVICE_HOST", "10.0.0.1", 1), 0);
        assert_int_equal(setenv(text, "5", 1), 0);
        _cleanup_(freep) char *said = options_unknown_variable(tables, ARRAY_LEN(tables), &at);
        buf_puts(out, said ? said : "-");
        assert_null(options_unknown_variable(tables, ARRAY_LEN(tables), &at));
        assert_int_equal(unsetenv(text), 0);
}

TEST_BETWEEN(unknown_variables, clear, done) {
        rows_check("variables.tsv", show_variable);
}

/* The page has the values by name, without where they come from. */
TEST_BETWEEN(flagz, clear, done) {
        static const char expected[] = "\nprogram flagz\n\n"
                                       "dry-run=false\n"
                                       "leader-elect=true\n"
                                       "log-format=logfmt\n"
                                       "policy-config-path=\"a\\nworkers=9\"\n"
                                       "ratio=0.25\n"
                                       "scrape-interval=15s\n"
                                       "target=one,two\n"
                                       "workers=4\n";
        _cleanup_(buf_done) struct buf out = BUF_INIT(OPTIONS_FLAGZ_MAX_BYTES);

        must_parse(ARGS("--policy-config-path=a\nworkers=9", "--ratio=.25"), 3);
        options_flagz("program", rows, ARRAY_LEN(rows), &out);
        assert_string_equal(out.data, expected);
}

TEST_BETWEEN(defaults, clear, done) {
        must_parse(ARGS(NULL), 1);
        _cleanup_(freep) char *text = capture(options_dump);
        assert_string_equal(text, "policy-config-path= (default)\n"
                                  "scrape-interval=15s (default)\n"
                                  "target=one,two (default)\n"
                                  "dry-run=false (default)\n"
                                  "leader-elect=true (default)\n"
                                  "workers=4 (default)\n"
                                  "ratio=0.5 (default)\n"
                                  "log-format=logfmt (default)\n");
}

/* What is dumped of arguments, behind what else there is of them: a word's place in argv. */
static void must_dump(const char *const *args, int rest, const char *const *lines) {
        must_parse(args, rest);
        _cleanup_(freep) char *text = capture(options_dump);
        _cleanup_(freep) char *all = xasprintf("\n%s", text);
        for (; *lines; lines++) {
                _cleanup_(freep) char *line = xasprintf("\n%s\n", *lines);
                if (!strstr(all, line))
                        fail_msg("%s is not in %s", *lines, text);
        }
}

#define MAX_LINES 3

TEST_BETWEEN(flags, clear, done) {
        static const struct {
                const char *args[MAX_ARGS], *lines[MAX_LINES];
                int rest;
        } cases[] = {
                /* As GNU: the next argument, whatever it is. */
                {{"--policy-config-path", "--odd"}, {"policy-config-path=--odd (flag)"}, 3},
                {{"--policy-config-path="}, {"policy-config-path= (flag)"}, 2},
                {{"--leader-elect=false", "--log-format", "json", "rest"},
                 {"leader-elect=false (flag)", "log-format=json (flag)"},
                 4},
                /* The last wins. */
                {{"--workers=7", "--workers=8"}, {"workers=8 (flag)"}, 3},
                {{"--ratio=.25"}, {"ratio=0.25 (flag)"}, 2},
                /* In place of the default. */
                {{"--target=a=b", "--target", "c", "--", "--dry-run"},
                 {"target=a=b,c (flag)", "dry-run=false (default)"},
                 5},
                /* A bool takes no argument, and words may stand between flags. */
                {{"--dry-run", "false", "--workers=2"},
                 {"dry-run=true (flag)", "workers=2 (flag)"},
                 3},
                {{"-"}, {NULL}, 1}, /* standard input */
                {{"-l", "json"}, {"log-format=json (flag)"}, 3},
                {{"-ljson"}, {"log-format=json (flag)"}, 2},
                {{"-l=json"}, {"log-format=json (flag)"}, 2},
                {{"-d", "rest"}, {"dry-run=true (flag)"}, 2},
                {{"-d=false"}, {"dry-run=false (flag)"}, 2},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                must_dump(cases[i].args, cases[i].rest, cases[i].lines);
}

TEST_BETWEEN(environment, clear, done) {
        static const char *const variables[][2] = {
                {"PLIMSOLL_SCRAPE_INTERVAL", "90s"}, {"PLIMSOLL_WORKERS", "9"},
                {"PLIMSOLL_DRY_RUN", "1"},           {"PLIMSOLL_TARGET", " a\n\nb  c\n"},
                {"PLIMSOLL_LEADER_ELECT", ""}, /* empty is unset */
        };

        for (size_t i = 0; i < ARRAY_LEN(variables); i++)
                assert_int_equal(setenv(variables[i][0], variables[i][1], 1), 0);
        must_dump(ARGS("--workers", "5"), 3,
                  (const char *const[]){"scrape-interval=1m30s (env)", "dry-run=true (env)",
                                        "target=a,b,c (env)", "leader-elect=true (default)",
                                        "workers=5 (flag)", NULL}); /* the flag is stronger */
        must_dump(ARGS("--target=x"), 2,
                  (const char *const[]){"target=x (flag)", "workers=9 (env)", NULL});
}

/* The user and the password of an URL are shown nowhere, and no value looks like a line of its own.
 */
TEST_BETWEEN(what_is_shown_of_a_text, clear, done) {
        for (struct rows table = rows_open("shown-values.tsv"); rows_next(&table);) {
                _cleanup_(freep) char *line = xasprintf("policy-config-path=%s (flag)",
                                                        rows_unescape(table.cells[1]));
                must_dump(ARGS("--policy-config-path", rows_unescape(table.cells[0])), 3,
                          (const char *const[]){line, NULL});
        }
}
