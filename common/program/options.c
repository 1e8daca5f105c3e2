#include "program/options.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/duration.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/number.h"

enum {
        HELP_WIDTH = 80,
        HELP_INDENT = 6, /* of further lines of an entry */
        VARIABLE_MAX = 80,
        TEXT_MAX = 1 << 20,
};

enum origin { ORIGIN_DEFAULT, ORIGIN_ENVIRONMENT, ORIGIN_FLAG };

#define VARIABLE_PREFIX "PLIMSOLL_"

/* There is one command line. */
static struct {
        const struct option_row *rows;
        size_t count;
        enum origin origins[OPTIONS_MAX_ROWS];
} last_parse;

/* "": none */
static void row_variable(const struct option_row *row, char text[static VARIABLE_MAX]) {
        if (row->variable) {
                (void)snprintf(text, VARIABLE_MAX, "%s", row->variable);
                return;
        }
        size_t len = (size_t)snprintf(text, VARIABLE_MAX, VARIABLE_PREFIX "%s", row->name);
        for (size_t i = 0; i < len; i++)
                text[i] = text[i] == '-' ? '_' : (char)toupper((unsigned char)text[i]);
}

struct input {
        const char *source; /* "--name" or the variable */
        const char *text;
};

static int refuse_option(struct input input, struct error *err, const char *expected) {
        return error_set(err, EINVAL, "%s: '%.128s': expected %s", input.source, input.text,
                         expected);
}

static void append_bound(struct buf *out, const struct option_row *row, double bound) {
        char text[DURATION_TEXT_MAX];

        _Static_assert((int)NUMBER_TEXT_MAX <= (int)DURATION_TEXT_MAX, "text holds either");
        if (row->type == OPTION_DURATION_MS)
                duration_format((int64_t)bound, text);
        else
                number_format(bound, text);
        buf_puts(out, text);
}

static int check_bounds(const struct option_row *row, double value, struct input input,
                        struct error *err) {
        if (value >= row->min && value <= row->max)
                return 0;

        _cleanup_(buf_done) struct buf expected = BUF_INIT(256);
        bool has_maximum = row->max < 9e18; /* above it, no int64_t could exceed it */
        buf_puts(&expected, has_maximum ? "" : "at least ");
        append_bound(&expected, row, row->min);
        if (has_maximum) {
                buf_puts(&expected, " to ");
                append_bound(&expected, row, row->max);
        }
        return refuse_option(input, err, expected.data);
}

static bool parse_bool(const char *text, bool *ret) {
        static const char *const yes[] = {"true", "True", "TRUE", "t", "T", "1"};
        static const char *const no[] = {"false", "False", "FALSE", "f", "F", "0"};

        for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
                bool is_yes = strcmp(text, yes[i]) == 0;
                if (is_yes || strcmp(text, no[i]) == 0) {
                        *ret = is_yes;
                        return true;
                }
        }
        return false;
}

static int set_bool(const struct option_row *row, struct input input, struct error *err) {
        return parse_bool(input.text, row->value) ? 0 : refuse_option(input, err, "true or false");
}

static int set_int64(const struct option_row *row, int64_t value, struct input input,
                     struct error *err) {
        int r = check_bounds(row, (double)value, input, err);

        if (r == 0)
                *(int64_t *)row->value = value;
        return r;
}

static int set_int(const struct option_row *row, struct input input, struct error *err) {
        int64_t value = 0;

        if (!number_parse_i64(input.text, strlen(input.text), &value))
                return refuse_option(input, err, "an integer");
        return set_int64(row, value, input, err);
}

static int set_duration(const struct option_row *row, struct input input, struct error *err) {
        size_t len = strlen(input.text);
        int64_t duration_ms = 0;
        double number = 0;

        if (duration_parse(input.text, len, &duration_ms) == 0)
                return set_int64(row, duration_ms, input, err);
        if (number_parse(input.text, len, &number) && number >= 0)
                return error_set(err, EINVAL, "%s: '%.128s' has no unit; did you mean %.128ss?",
                                 input.source, input.text, input.text);
        return refuse_option(input, err, "a duration such as 500ms, 90s or 1h30m");
}

static int set_number(const struct option_row *row, struct input input, struct error *err) {
        double value = 0;

        if (!number_parse(input.text, strlen(input.text), &value))
                return refuse_option(input, err, "a decimal number");
        int r = check_bounds(row, value, input, err);
        if (r == 0)
                *(double *)row->value = value;
        return r;
}

static int set_enum(const struct option_row *row, struct input input, struct error *err) {
        _cleanup_(buf_done) struct buf expected = BUF_INIT(1024);
        struct nearest nearest = NEAREST_TO(input.text);

        buf_puts(&expected, "one of");
        for (int i = 0; row->choices[i]; i++) {
                if (strcmp(input.text, row->choices[i]) == 0) {
                        *(int *)row->value = i;
                        return 0;
                }
                nearest_offer(&nearest, row->choices[i]);
                buf_printf(&expected, "%s %s", i > 0 ? "," : "", row->choices[i]);
        }
        if (nearest.candidate)
                buf_printf(&expected, "; did you mean %s?", nearest.candidate);
        return refuse_option(input, err, expected.data);
}

/* From the environment or a default. One allocation has the array and a copy of the text. */
static void set_list(struct option_list *list, const char *text) {
        size_t len = strlen(text), items = len / 2 + 1;
        const char **block = xmalloc(items * sizeof(*block) + len + 1);
        char *copy = (char *)(block + items);

        memcpy(copy, text, len + 1);
        *list = (struct option_list){.items = block};
        for (char *rest = copy, *item = NULL; (item = strsep(&rest, " \n")) != NULL;)
                if (*item)
                        block[list->count++] = item;
}

static void append_list(struct option_list *list, const char *text) {
        list->items = xreallocarray(list->items, list->count + 1, sizeof(*list->items));
        list->items[list->count++] = text;
}

static int set_value(const struct option_row *row, enum origin origin, struct input input,
                     struct error *err) {
        switch (row->type) {
        case OPTION_BOOL:
                return set_bool(row, input, err);
        case OPTION_INT:
                return set_int(row, input, err);
        case OPTION_DURATION_MS:
                return set_duration(row, input, err);
        case OPTION_NUMBER:
                return set_number(row, input, err);
        case OPTION_STRING:
                *(const char **)row->value = input.text;
                return 0;
        case OPTION_LIST:
                if (origin == ORIGIN_FLAG)
                        append_list(row->value, input.text);
                else
                        set_list(row->value, input.text);
                return 0;
        case OPTION_ENUM:
                break;
        }
        return set_enum(row, input, err);
}

static const struct option_row *find_row(const struct option_row *rows, size_t count,
                                         const char *name, size_t len) {
        for (size_t i = 0; i < count; i++)
                if (rows[i].name && strlen(rows[i].name) == len &&
                    memcmp(rows[i].name, name, len) == 0)
                        return &rows[i];
        return NULL;
}

static int refuse_unknown(const struct option_row *rows, size_t count, const char *flag,
                          struct error *err) {
        size_t len = size_min(strcspn(flag, "="), OPTIONS_NAME_MAX);
        _cleanup_(freep) char *written = xmemdup0(flag, len);
        struct nearest nearest = NEAREST_TO(written + strspn(written, "-"));

        for (size_t i = 0; i < count; i++)
                if (rows[i].name)
                        nearest_offer(&nearest, rows[i].name);
        nearest_offer(&nearest, "help");
        nearest_offer(&nearest, "version");
        if (nearest.candidate)
                return error_set(err, EINVAL, "unknown flag %s; did you mean --%s?", written,
                                 nearest.candidate);
        return error_set(err, EINVAL, "unknown flag %s", written);
}

static const struct option_row *find_letter(const struct option_row *rows, size_t count,
                                            char letter) {
        for (size_t i = 0; i < count; i++)
                if (rows[i].name && rows[i].letter == letter)
                        return &rows[i];
        return NULL;
}

const struct option_row *options_find_flag(const struct option_row *rows, size_t count,
                                           const char *flag, const char **ret_value) {
        *ret_value = NULL;
        if (flag[0] != '-' || flag[1] == '\0')
                return NULL;
        if (flag[1] == '-') {
                size_t len = strcspn(flag + 2, "=");
                if (flag[2 + len] == '=')
                        *ret_value = flag + 2 + len + 1;
                return find_row(rows, count, flag + 2, len);
        }
        const struct option_row *row = find_letter(rows, count, flag[1]);
        if (flag[2] != '\0')
                *ret_value = flag + 2 + (flag[2] == '=');
        /* Letters cannot be joined: only a value follows a letter. */
        return row && row->type == OPTION_BOOL && flag[2] != '\0' && flag[2] != '=' ? NULL : row;
}

/* Reads the flag at argv[*at], and sets *at to its last argument. */
static int read_flag(const struct option_row *rows, size_t count, int argc, char **argv, int *at,
                     struct error *err) {
        const char *value;
        const struct option_row *row = options_find_flag(rows, count, argv[*at], &value);

        if (!row)
                return refuse_unknown(rows, count, argv[*at], err);
        char source[OPTIONS_NAME_MAX + 3];
        (void)snprintf(source, sizeof(source), "--%s", row->name);
        struct input input = {source, "true"};
        if (value)
                input.text = value;
        else if (row->type != OPTION_BOOL && *at + 1 < argc)
                input.text = argv[++*at];
        else if (row->type != OPTION_BOOL)
                return error_set(err, EINVAL, "%s: needs a value", source);
        last_parse.origins[row - rows] = ORIGIN_FLAG;
        return set_value(row, ORIGIN_FLAG, input, err);
}

/* Moves words to the end, in order. */
static int read_option_flags(const struct option_row *rows, size_t count, int argc, char **argv,
                             enum options_outcome *ret_outcome, int *ret_args, struct error *err) {
        _cleanup_(freep) char **words = xcalloc((size_t)argc, sizeof(*words));
        enum options_outcome outcome = OPTIONS_RUN;
        int flags = 1, word_count = 0, r = 0;

        for (int at = 1; at < argc && outcome == OPTIONS_RUN; at++) {
                char *argument = argv[at];
                int begin = at;
                if (strcmp(argument, "--") == 0) {
                        while (++at < argc)
                                words[word_count++] = argv[at];
                        break;
                }
                if (argument[0] != '-' || argument[1] == '\0') {
                        words[word_count++] = argument; /* "-" is standard input */
                        continue;
                }
                if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0)
                        outcome = OPTIONS_HELP;
                else if (strcmp(argument, "--version") == 0)
                        outcome = OPTIONS_VERSION;
                else
                        r = read_flag(rows, count, argc, argv, &at, err);
                if (r < 0)
                        return r;
                while (begin <= at)
                        argv[flags++] = argv[begin++];
        }
        for (int i = 0; i < word_count; i++)
                argv[argc - word_count + i] = words[i];
        *ret_outcome = outcome;
        *ret_args = argc - word_count;
        return 0;
}

/* For a row that no flag has set. */
static int read_environment_or_default(const struct option_row *row, enum origin *origin,
                                       struct error *err) {
        char variable[VARIABLE_MAX];

        row_variable(row, variable);
        const char *text = getenv(variable);
        if (text && *text) {
                *origin = ORIGIN_ENVIRONMENT;
                return set_value(row, *origin, (struct input){variable, text}, err);
        }
        if (row->fallback) {
                int r = set_value(row, ORIGIN_DEFAULT, (struct input){row->name, row->fallback},
                                  err);
                assert(r == 0); /* the table itself is wrong */
                return r;
        }
        return 0;
}

int options_parse(const struct option_row *rows, size_t count, int argc, char **argv,
                  enum options_outcome *ret_outcome, int *ret_args, struct error *err) {
        enum options_outcome outcome = OPTIONS_RUN;
        int args = argc;

        assert(count <= OPTIONS_MAX_ROWS);
        last_parse.rows = rows;
        last_parse.count = count;
        for (size_t i = 0; i < count; i++) {
                assert(!rows[i].name || strlen(rows[i].name) <= OPTIONS_NAME_MAX);
                last_parse.origins[i] = ORIGIN_DEFAULT;
        }
        int r = read_option_flags(rows, count, argc, argv, &outcome, &args, err);
        for (size_t i = 0; r == 0 && outcome == OPTIONS_RUN && i < count; i++)
                if (rows[i].name && last_parse.origins[i] != ORIGIN_FLAG)
                        r = read_environment_or_default(&rows[i], &last_parse.origins[i], err);
        if (r < 0) {
                options_done(rows, count);
                return r;
        }
        *ret_outcome = outcome;
        *ret_args = args;
        return 0;
}

int options_wrap(struct error *err, int code, const void *value) {
        char variable[VARIABLE_MAX];
        size_t i = 0;

        while (last_parse.rows[i].value != value) {
                i++;
                assert(i < last_parse.count);
        }
        row_variable(&last_parse.rows[i], variable);
        return last_parse.origins[i] == ORIGIN_ENVIRONMENT
                       ? error_wrap(err, code, "%s", variable)
                       : error_wrap(err, code, "--%s", last_parse.rows[i].name);
}

/* Kubernetes sets NAME_SERVICE_HOST, NAME_SERVICE_PORT, NAME_PORT and longer ones for a Service. */
static bool is_of_service(const char *variable) {
        static const char *const parts[] = {"_SERVICE_", "_PORT"};

        for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
                const char *at = variable;
                while ((at = strstr(at + 1, parts[i])) != NULL) {
                        _cleanup_(freep) char *host = xasprintf("%.*s_SERVICE_HOST",
                                                                (int)(at - variable), variable);
                        if (getenv(host))
                                return true;
                }
        }
        return false;
}

/* @ret_nearest: "" or the variable of a row that is near
 * Return: whether it is that of a row */
static bool find_variable(const struct option_table *tables, size_t count, const char *variable,
                          char ret_nearest[static VARIABLE_MAX]) {
        const size_t prefix = strlen(VARIABLE_PREFIX);
        struct nearest nearest = NEAREST_TO(variable + prefix);
        char known[VARIABLE_MAX];

        ret_nearest[0] = '\0';
        for (size_t i = 0; i < count; i++)
                for (size_t j = 0; j < tables[i].count; j++) {
                        if (!tables[i].rows[j].name)
                                continue;
                        row_variable(&tables[i].rows[j], known);
                        if (strcmp(known, variable) == 0)
                                return true;
                        if (strncmp(known, VARIABLE_PREFIX, prefix) == 0)
                                nearest_offer(&nearest, known + prefix);
                        if (nearest.candidate == known + prefix)
                                nearest.candidate = memcpy(ret_nearest, known, sizeof(known));
                }
        return false;
}

char *options_unknown_variable(const struct option_table *tables, size_t count, size_t *at) {
        char nearest[VARIABLE_MAX];

        while (environ[*at]) {
                const char *entry = environ[(*at)++];
                _cleanup_(freep) char *name = xmemdup0(entry, strcspn(entry, "="));
                if (strncmp(name, VARIABLE_PREFIX, strlen(VARIABLE_PREFIX)) == 0 &&
                    !find_variable(tables, count, name, nearest) && !is_of_service(name))
                        return xasprintf("unknown variable %s%s%s%s", name,
                                         nearest[0] ? "; did you mean " : "", nearest,
                                         nearest[0] ? "?" : "");
        }
        return NULL;
}

void options_done(const struct option_row *rows, size_t count) {
        for (size_t i = 0; i < count; i++)
                if (rows[i].name && rows[i].type == OPTION_LIST) {
                        struct option_list *list = rows[i].value;
                        free(list->items);
                        *list = (struct option_list){0};
                }
}

static void append_metavar(struct buf *out, const struct option_row *row) {
        static const char *const by_type[] = {
                [OPTION_INT] = "N",       [OPTION_DURATION_MS] = "DURATION",
                [OPTION_NUMBER] = "X",    [OPTION_STRING] = "TEXT",
                [OPTION_LIST] = "TEXT",   [OPTION_BOOL] = "",
                [OPTION_ENUM] = "CHOICE",
        };

        if (row->type == OPTION_BOOL)
                return;
        buf_putc(out, '=');
        if (row->metavar || row->type != OPTION_ENUM) {
                buf_puts(out, row->metavar ? row->metavar : by_type[row->type]);
                return;
        }
        for (size_t i = 0; row->choices[i]; i++)
                buf_printf(out, "%s%s", i > 0 ? "|" : "", row->choices[i]);
}

/* Breaks between words, and indents all lines but the first. */
static void print_wrapped(const char *text, FILE *out) {
        for (size_t column = 0; *text;) {
                size_t blanks = strspn(text, " "), len = strcspn(text + blanks, " ");
                text += blanks;
                if (column > 0 && column + blanks + len > HELP_WIDTH) {
                        (void)fputc('\n', out);
                        blanks = HELP_INDENT;
                        column = 0;
                }
                column += (size_t)fprintf(out, "%*s%.*s", (int)blanks, "", (int)len, text);
                text += len;
        }
        (void)fputc('\n', out);
}

/* A variable is only shown if its name does not follow from the flag's. */
static void append_defaults(struct buf *out, const struct option_row *row) {
        const char *fallback = row->type == OPTION_BOOL ? "false" : "";

        if (row->fallback)
                fallback = row->fallback;
        if (*fallback)
                buf_printf(out, " (default %s)", fallback);
        if (row->variable && *row->variable)
                buf_printf(out, " ($%s)", row->variable);
}

void options_help(const struct option_row *rows, size_t count, FILE *out) {
        _cleanup_(buf_done) struct buf entry = BUF_INIT(TEXT_MAX);

        for (size_t i = 0; i < count && (rows[i].name || rows[i].help); i++) {
                const struct option_row *row = &rows[i];
                if (!row->name) {
                        (void)fprintf(out, "%s%s:\n", i > 0 ? "\n" : "", row->help);
                        continue;
                }
                buf_clear(&entry);
                buf_puts(&entry, "  ");
                if (row->letter)
                        buf_printf(&entry, "-%c, ", row->letter);
                buf_printf(&entry, "--%s", row->name);
                append_metavar(&entry, row);
                buf_printf(&entry, "  %s%s", row->help,
                           row->type == OPTION_LIST ? " May be repeated." : "");
                append_defaults(&entry, row);
                print_wrapped(entry.data, out);
        }
        (void)fputs("\n"
                    "  -h, --help  Print this text and exit.\n"
                    "  --version  Print the version and exit.\n",
                    out);
}

/* Quotes text that a terminal or a reader of lines could misread. Hides the user and password of a
 * URL. */
static void append_dumped(struct buf *out, const struct option_row *row, const char *text) {
        const char *scheme = strstr(text, "://"), *host = scheme ? scheme + strlen("://") : text;
        const char *user_end = scheme ? memrchr(host, '@', strcspn(host, "/?#")) : NULL;

        _cleanup_(freep) char *masked =
                user_end ? xasprintf("%.*s...%s", (int)(host - text), text, user_end) : NULL;
        text = masked ? masked : text;
        size_t len = row->hides_query ? strcspn(text, "?#") : strlen(text);
        bool is_plain = true;

        for (size_t i = 0; i < len; i++)
                is_plain &= text[i] > ' ' && text[i] < 0x7f && text[i] != '"';
        if (is_plain)
                buf_append(out, text, len);
        else
                buf_json_string(out, text, len);
        if (text[len])
                buf_puts(out, "?...");
}

static void append_value(struct buf *out, const struct option_row *row) {
        char duration[DURATION_TEXT_MAX], number[NUMBER_TEXT_MAX];

        switch (row->type) {
        case OPTION_BOOL:
                buf_puts(out, *(const bool *)row->value ? "true" : "false");
                break;
        case OPTION_INT:
                buf_printf(out, "%lld", (long long)*(const int64_t *)row->value);
                break;
        case OPTION_DURATION_MS:
                duration_format(*(const int64_t *)row->value, duration);
                buf_puts(out, duration);
                break;
        case OPTION_NUMBER:
                number_format(*(const double *)row->value, number);
                buf_puts(out, number);
                break;
        case OPTION_STRING:
                if (*(const char *const *)row->value)
                        append_dumped(out, row, *(const char *const *)row->value);
                break;
        case OPTION_LIST: {
                const struct option_list *list = row->value;
                for (size_t i = 0; i < list->count; i++) {
                        if (i > 0)
                                buf_putc(out, ',');
                        append_dumped(out, row, list->items[i]);
                }
                break;
        }
        case OPTION_ENUM:
                buf_puts(out, row->choices[*(const int *)row->value]);
                break;
        }
}

void options_dump(const struct option_row *rows, size_t count, FILE *out) {
        static const char *const names[] = {
                [ORIGIN_DEFAULT] = "default",
                [ORIGIN_ENVIRONMENT] = "env",
                [ORIGIN_FLAG] = "flag",
        };
        _cleanup_(buf_done) struct buf text = BUF_INIT(TEXT_MAX);

        assert(rows == last_parse.rows);
        for (size_t i = 0; i < count; i++) {
                if (!rows[i].name)
                        continue;
                buf_clear(&text);
                buf_printf(&text, "%s=", rows[i].name);
                append_value(&text, &rows[i]);
                (void)fprintf(out, "%s (%s)\n", text.data, names[last_parse.origins[i]]);
        }
}

static int compare_option_names(const void *a, const void *b) {
        const struct option_row *const *x = a, *const *y = b;

        return strcmp((*x)->name, (*y)->name);
}

void options_flagz(const char *program, const struct option_row *rows, size_t count,
                   struct buf *out) {
        const struct option_row *sorted[OPTIONS_MAX_ROWS];
        size_t named = 0;

        for (size_t i = 0; i < count; i++)
                if (rows[i].name)
                        sorted[named++] = &rows[i];
        qsort(sorted, named, sizeof(*sorted), compare_option_names);
        buf_printf(out, "\n%s flagz\n\n", program);
        for (size_t i = 0; i < named; i++) {
                buf_printf(out, "%s=", sorted[i]->name);
                append_value(out, sorted[i]);
                buf_putc(out, '\n');
        }
}
