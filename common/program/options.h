/*
 * Command line options from one table. Its rows define the parser, --help, environment variables,
 * and the lists of --check-config and /flagz. Precedence: flag, environment, default.
 *
 * The environment variable of --scrape-interval is PLIMSOLL_SCRAPE_INTERVAL; an empty one is
 * ignored. Flags have GNU's syntax: --name=value or --name value. Words can be between them, and
 * "--" ends them. A row with a letter also has kubectl's short forms: -o json, -ojson and -o=json.
 * Every program has
 * --help, -h and --version.
 *
 * --help prints an entry per row, under headings. To keep it short, it shows the name of an
 * environment variable only if it does not follow from the flag:
 *
 *     Cluster:
 *       --kubeconfig=FILE  kubeconfig file. Default: the pod's service account.
 *       --patch-qps=N  Maximum number of patches per second. (default 50)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "base/error.h"

enum option_type {
        OPTION_BOOL,        /* bool; --x, --x=true, --x=false, as in Go's flag package */
        OPTION_INT,         /* int64_t within [min, max] */
        OPTION_DURATION_MS, /* int64_t, a Go duration within [min, max] ms */
        OPTION_NUMBER,      /* double within [min, max] */
        OPTION_STRING,      /* const char *, borrowed from argv, environ or the row */
        OPTION_LIST, /* struct option_list; repeatable; in the environment, separated by white space
                      */
        OPTION_ENUM, /* int, index into choices */
};

struct option_list {
        const char **items; /* an owned array of borrowed strings; options_done() frees it */
        size_t count;
};

struct option_row {
        /* Long name without dashes. NULL: `help` is a heading in --help. If that is NULL as well,
         * --help ends there: the other rows are listed elsewhere. */
        const char *name;
        char letter; /* of the short form, not 'h'; 0: none */
        enum option_type type;
        void *value;                /* the result; zero before, of the type above */
        const char *fallback;       /* default as text; NULL: NULL, false or 0 */
        const char *variable;       /* instead of PLIMSOLL_ and the name; "": none */
        const char *metavar;        /* FILE, DURATION, ... for --help; shells complete a FILE */
        double min, max;            /* OPTION_INT, _DURATION_MS, _NUMBER */
        const char *const *choices; /* OPTION_ENUM: NULL-terminated */
        bool hides_query;           /* of a URL: do not show its query, which may be secret */
        const char *help;           /* sentences; wrapped by --help */
};

enum options_outcome {
        OPTIONS_RUN,
        OPTIONS_HELP,    /* --help or -h */
        OPTIONS_VERSION, /* --version */
};

enum {
        OPTIONS_MAX_ROWS = 128,
        OPTIONS_NAME_MAX = 64,
        OPTIONS_FLAGZ_MAX_BYTES = 1 << 20,
};

/**
 * options_parse() - set the values of all rows from flags, environment or defaults
 * @argv:        as in main(), with the name of the program or subcommand. Words move to the end
 * @ret_outcome: --help and --version always work: the rest of the line is ignored
 * @ret_args:    index of the first word; @argc if there is none
 *
 * The last of several equal flags wins; a list collects all, and replaces that of the environment.
 * Return: 0; -EINVAL with the flag, its value and the expected values in @err. An unknown flag
 * suggests the nearest one. After a failure, the values hold no memory.
 */
_must_check_ int options_parse(const struct option_row *rows, size_t count, int argc, char **argv,
                               enum options_outcome *ret_outcome, int *ret_args, struct error *err);
/** options_find_flag() - the row of a word such as "--name", "--name=value", "-o", "-ojson" or
 * "-o=json"
 * @ret_value: the value in the same word; NULL: there is none
 * Return: NULL: no such flag */
const struct option_row *options_find_flag(const struct option_row *rows, size_t count,
                                           const char *flag, const char **ret_value);
/**
 * options_wrap() - error_wrap() with the flag that belongs to @value, or with the variable if that
 * has set it
 * @value: of a row of the last table of options_parse()
 */
int options_wrap(struct error *err, int code, const void *value);

struct option_table {
        const struct option_row *rows;
        size_t count;
};

/**
 * options_unknown_variable() - find a variable PLIMSOLL_... that belongs to no row of a program
 *
 * Not those that Kubernetes sets for a Service of such a name.
 * @at: 0 before the first call
 * Return: what is wrong, with the nearest variable, owned by the caller; NULL: there are no more
 */
char *options_unknown_variable(const struct option_table *tables, size_t count, size_t *at);
/** options_done() - release the lists */
void options_done(const struct option_row *rows, size_t count);

/** options_help() - print the flags, in 80 columns; the caller prints "Usage: ..." first */
void options_help(const struct option_row *rows, size_t count, FILE *out);
/**
 * options_dump() - print a line "name=value (flag)" per option, or (env), or (default)
 *
 * Only for the last table of options_parse(): there is one list of origins per process.
 */
void options_dump(const struct option_row *rows, size_t count, FILE *out);

/**
 * options_flagz() - the page /flagz, in the format of Kubernetes' programs: a heading between empty
 * lines, and a line "name=value" per option, sorted by name
 *
 * As in options_dump(), secrets are hidden, and values that are not plain text are quoted: no value
 * can look like another line.
 */
void options_flagz(const char *program, const struct option_row *rows, size_t count,
                   struct buf *out);
