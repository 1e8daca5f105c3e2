/*
 * Command line options from one table: a row gives the parser, --help, the environment variable,
 * --check-config's list and the start-up dump. Precedence: flag, environment, default.
 *
 * The environment variable of --scrape-interval is PLIMSOLL_SCRAPE_INTERVAL; an empty one counts
 * as unset. Flags are GNU's: --name=value or --name value, words may stand between them, and "--"
 * ends them. A row with a letter also takes kubectl's short forms: -o json, -ojson and -o=json.
 * Every program also has --help, -h and --version.
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
        OPTION_LIST, /* struct option_list, repeatable; in the environment: by newline or space */
        OPTION_ENUM, /* int, index into choices */
};

struct option_list {
        const char **items; /* borrowed strings, array owned; options_done() frees it */
        size_t count;
};

struct option_row {
        /* Long name without dashes. NULL: `help` is a heading in --help, which ends where that is
         * NULL, too: what follows is listed elsewhere. */
        const char *name;
        char letter; /* of its short form, not 'h'; 0: it has none */
        enum option_type type;
        void *value;                /* where the result goes, zero before; type above */
        const char *fallback;       /* default as text, NULL: unset (NULL string, false, 0) */
        const char *variable;       /* in place of PLIMSOLL_ and its name; "": there is none */
        const char *metavar;        /* FILE, DURATION, ... for --help; FILE: shells offer files */
        double min, max;            /* OPTION_INT, _DURATION_MS, _NUMBER */
        const char *const *choices; /* OPTION_ENUM: NULL-terminated */
        bool hides_query;           /* of an URL; shown up to its query, which may hold a secret */
        const char *help;           /* one or more sentences; wrapped by --help */
};

enum options_outcome {
        OPTIONS_RUN,
        OPTIONS_HELP,    /* --help or -h was given */
        OPTIONS_VERSION, /* --version */
};

enum {
        OPTIONS_MAX_ROWS = 128,
        OPTIONS_NAME_MAX = 64,
        OPTIONS_FLAGZ_MAX_BYTES = 1 << 20,
};

/**
 * options_parse() - flags, else environment, else defaults, into the rows' places
 * @argv:         as main's; argv[0] is the program's name (or a subcommand's). Words are moved
 *                behind the flags, in their order
 * @ret_outcome:  on --help and --version the rest is not looked at, so that they always work
 * @ret_args:     index of the first word (== argc when none)
 *
 * A scalar flag given twice keeps the last, a list collects; flags replace the environment's list.
 * Return: 0; -EINVAL with the flag's name, what was given and what is expected in @err. An unknown
 * flag suggests the nearest one. On failure the rows' places hold no memory.
 */
_must_check_ int options_parse(const struct option_row *rows, size_t count, int argc, char **argv,
                               enum options_outcome *ret_outcome, int *ret_args, struct error *err);
/** options_flag_words() - how many words @flag takes: 0: there is no such flag; 1: itself; 2: and
 * its value */
int options_flag_words(const struct option_row *rows, size_t count, const char *flag);
/** options_done() - release what lists hold */
void options_done(const struct option_row *rows, size_t count);

/** options_help() - "Usage: ..." is the caller's; this prints the table, wrapped to 80 columns */
void options_help(const struct option_row *rows, size_t count, FILE *out);
/**
 * options_dump() - one "name=value (flag)" line per option; or (env), or (default)
 *
 * For the table that options_parse() has read last: origins are kept once per process.
 */
void options_dump(const struct option_row *rows, size_t count, FILE *out);

/**
 * options_flagz() - the page /flagz, as Kubernetes' programs have it: an empty line, a heading, an
 * empty line, and one line "name=value" per option, by name
 *
 * Values are written as by options_dump(): without secrets, and with quotes around what is no plain
 * text, so that none can look like a line of its own.
 */
void options_flagz(const char *program, const struct option_row *rows, size_t count,
                   struct buf *out);
